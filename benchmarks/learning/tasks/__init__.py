"""The tasks by name, in the order of the table."""

from benchmarks.learning.task import Task
from benchmarks.learning.tasks.forecasting import FORECASTING
from benchmarks.learning.tasks.mixers import MIXERS
from benchmarks.learning.tasks.reversing import REVERSING
from benchmarks.learning.tasks.sentiment import SENTIMENT, SENTIMENT_LONG
from benchmarks.learning.tasks.shakespeare import SHAKESPEARE
from benchmarks.learning.tasks.tagging import TAGGING

ORDER = (REVERSING, SHAKESPEARE, SENTIMENT, SENTIMENT_LONG, TAGGING, FORECASTING, MIXERS)
TASKS: dict[str, Task] = {task.name: task for task in ORDER}

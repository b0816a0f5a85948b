"""The tasks by name, in the order of the table."""

from benchmarks.learning.task import Task
from benchmarks.learning.tasks.forecasting import FORECASTING
from benchmarks.learning.tasks.mixers import MIXERS
from benchmarks.learning.tasks.reversing import REVERSING
from benchmarks.learning.tasks.sentiment import SENTIMENT
from benchmarks.learning.tasks.shakespeare import SHAKESPEARE
from benchmarks.learning.tasks.tagging import TAGGING

TASKS: dict[str, Task] = {task.name: task for task in (REVERSING, SHAKESPEARE, SENTIMENT, TAGGING, FORECASTING, MIXERS)}

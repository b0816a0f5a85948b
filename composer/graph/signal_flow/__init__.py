"""Whether a graph can learn: the sizes of its signals and gradients at initialisation, compared with limits.

measured = measure(graph.materialise())
problems(measured)  # every limit that is exceeded, with the node to change
print(composer.views.graph_tables.signal_table(measured))
"""

from composer.graph.signal_flow.limits import as_data, problems, warnings
from composer.graph.signal_flow.measurement import Measurement, measure

__all__ = ["Measurement", "as_data", "measure", "problems", "warnings"]

"""Whether a graph can learn: the sizes of its signals and gradients at initialisation, measured and held to limits.

measured = measure(graph.materialise())
problems(measured)  # what is beyond the limits, each at the node to mend
print(table(measured))
"""

from composer.graph.signal_flow.limits import problems
from composer.graph.signal_flow.measurement import Measurement, measure
from composer.graph.signal_flow.view import as_data, table, warnings

__all__ = ["Measurement", "as_data", "measure", "problems", "table", "warnings"]

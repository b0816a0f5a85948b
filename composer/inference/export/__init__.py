"""A trained graph outside this project: as programs that need no Python, or as weights alone.

    model   whole sequences: every input, with its lengths, to every head's output
    start   what is given to the state before the first step
    step    one step of what is generated, and the state, to the heads' outputs and the state after it

A manifest beside them says all that a service has to know to use them.
"""

from composer.inference.export.folder import FORMATS, Format, export
from composer.inference.export.weights import load_weights

__all__ = ["FORMATS", "Format", "export", "load_weights"]

"""Export of a trained graph for use without this project: as programs that need no Python, or as weights alone.

    model   whole sequences at once: every input, with its lengths, to every head's output
    start   the given inputs to the initial state (such as an empty KV cache and the encoder's memory)
    step    one step of the generated inputs and the state, to the heads' outputs and the next state

A manifest beside the programs describes their inputs, outputs and states for the software that calls them.
"""

from composer.inference.export.export_folder import FORMATS, Format, export
from composer.inference.export.weights_file import load_weights

__all__ = ["FORMATS", "Format", "export", "load_weights"]

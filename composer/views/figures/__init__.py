"""Figures of models and runs: plain data in, PNG out, drawn with matplotlib."""

from composer.views.figures.attention import AttentionMap, attention_figure, attention_maps
from composer.views.figures.canvas import png, save
from composer.views.figures.classes import class_figures, judged_batches
from composer.views.figures.curves import learning_curves, throughput
from composer.views.figures.fonts import lacking
from composer.views.figures.gradients import gradient_by_step, gradient_figure
from composer.views.figures.write import write_figures

__all__ = [
    "AttentionMap",
    "attention_figure",
    "attention_maps",
    "class_figures",
    "gradient_by_step",
    "gradient_figure",
    "judged_batches",
    "lacking",
    "learning_curves",
    "png",
    "save",
    "throughput",
    "write_figures",
]

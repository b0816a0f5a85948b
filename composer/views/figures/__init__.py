"""Figures of models and runs: plain data in, PNG out, drawn with matplotlib."""

from composer.views.figures.attention_maps import AttentionMap, attention_figure, attention_maps
from composer.views.figures.class_figures import class_figures, judged_batches
from composer.views.figures.fonts import lacking
from composer.views.figures.gradient_figures import gradient_by_step, gradient_figure
from composer.views.figures.learning_curves import learning_curves, throughput
from composer.views.figures.style import png, save_figures
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
    "save_figures",
    "throughput",
    "write_figures",
]

"""Drawings of graphs, figures of models and runs (attention, learning curves, gradients), and HTML pages of them."""

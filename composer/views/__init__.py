"""Drawings of graphs, figures of models and runs (attention, learning curves, gradients), HTML pages of them, and
tables of text for the terminal."""

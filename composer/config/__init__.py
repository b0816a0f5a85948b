"""Composition of configs by Hydra, with the file and line of every value, and compilation of a config's graph."""

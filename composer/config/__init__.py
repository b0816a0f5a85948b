"""Hydra's composition with the place of every value, and from a composed config to a compiled graph."""

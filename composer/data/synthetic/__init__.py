"""Tasks with a known answer, generated from a seed."""

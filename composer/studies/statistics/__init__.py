"""The statistics of results, as functions of numbers.

distributions.py  Student's t distribution and the studentised range
over_seeds.py     confidence intervals, t-tests, Holm's correction, the number of seeds that a difference needs
power_law.py      power laws of loss against size and tokens, fitted with their intervals
"""

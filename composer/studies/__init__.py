"""Comparisons of architectures: what every arm gets, how it is tuned, and what came out.

sweep/            many runs from one command: grids, searches and studies that go on after being killed
study.py          the config's section ``study``, checked and turned into a plan before anything runs
study_checks.py   checks of that section and of the command line
trials.py         the runs of a study: tuning with the same points for every arm, then the final runs
budget.py         the width or the number of steps at which an arm meets the study's budget
scalable_arm.py   an arm whose model can be compiled at any width
width_search.py   the width at which a model has a wanted size, in few compilations
step_cost.py      the tokens and the measured seconds of a training step
search_space.py   the values that tuning tries, in Hydra's sweep syntax

This module imports nothing, so that ``--help`` starts quickly.
"""

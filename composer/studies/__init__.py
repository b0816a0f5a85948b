"""Many runs: sweeps, searches and studies; which architecture is best for a task and a budget, and how sure that is.

To run them:

sweep/            many runs from one command: grids, searches and studies that go on after being killed
study.py          the config's section ``study``, checked and turned into a plan before anything runs
study_checks.py   checks of that section and of the command line
ladder.py         the config's section ``study.ladder``: every arm at several sizes and numbers of steps
trials.py         the runs of a study: tuning by the same rule for every arm, then the final runs
budget.py         the width or the number of steps at which an arm meets the study's budget
scalable_arm.py   an arm whose model can be compiled at any width
width_search.py   the width at which a model has a wanted size, in few compilations
step_cost.py      the tokens and the measured seconds of a training step
search_space.py   the ranges that tuning and searches try, in Hydra's sweep syntax
tuning_rule.py    which points are tried, given the results of those before, until the best one is interior

To compare them:

runs.py           run folders, sweeps and studies read into records; broken folders are skipped with a reason
naming.py         names of arms: what sets runs apart besides their seeds
student.py        Student's t distribution
statistics.py     confidence intervals, t-tests, Holm's correction, the number of seeds that a difference needs
tuning.py         the quality of tuned arms by learning rate: windows, arms that are not tuned, rankings that would flip
verdicts.py       arms, and the verdict on each against the best
tasks.py          arms that were tested on the same data, ranked and judged among themselves
examples.py       the single test examples: differences on another test set, quality by length
power_law.py      power laws of loss against size and tokens, fitted with their intervals
scaling.py        the laws of the arms of a ladder: exponents, crossings, the held-out size
fairness.py       warnings: arms alone with their data, other settings, missing runs
wording.py        the answer in a sentence, numbers with their intervals
comparison.py     the comparison of all that: arms ranked by one metric
terminal.py       the comparison as a table in the terminal and as JSON
report/           the comparison as one HTML file

This module imports nothing, so that ``--help`` starts quickly.
"""

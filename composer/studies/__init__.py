"""Comparison of many runs: which architecture is best for a task and a budget, and how sure that is.

runs.py          run folders, sweeps and studies read into records; broken folders are skipped with a reason
naming.py        names of arms: what sets runs apart besides their seeds
student.py       Student's t distribution
statistics.py    confidence intervals, t-tests, Holm's correction, the number of seeds that a difference needs
verdicts.py      arms, and the verdict on each against the best
fairness.py      warnings: other data, other settings, missing runs
wording.py       the answer in a sentence, numbers with their intervals
comparison.py    the comparison of all that: arms ranked by one metric
terminal.py      the comparison as a table in the terminal and as JSON
report/          the comparison as one HTML file

This module imports nothing, so that ``--help`` starts quickly.
"""

"""Many runs: sweeps, searches and studies; which architecture is best for a task and a budget, and how sure that is.

The folders are the steps from a study to its report; each knows only those before it:

statistics/      numbers alone: distributions, intervals over seeds and tests, power laws
formatting.py    numbers with their intervals, and lists, in words
json_data.py     what was found as plain data for JSON
tuning/          the ranges of a tuning, and the rule by which an arm is tuned until its best point is interior
planning/        the config's section ``study``, checked and turned into a plan before anything runs
records/         run folders, sweeps and studies read into records and arms
findings/        what the records show: verdicts, tasks, curves of the tuning, scaling laws, the answer in a sentence
ranked_table.py  tables that leave out what does not fit the terminal
comparison.py    the comparison of all that: arms ranked by one metric
terminal.py      the comparison as a table in the terminal and as JSON
report/          the comparison as one HTML file
sweep/           many runs from one command: grids, searches and studies that go on after being killed
program_sweep.py sweeps and studies started from Python

This module imports nothing, so that ``--help`` starts quickly.
"""

"""Comparison of many runs: which architecture is best for a task and a budget, and how sure that is.

runs.py          run folders, sweeps and studies read into records; broken folders are skipped with a reason
statistics.py    confidence intervals, paired tests, Holm's correction, the number of seeds a difference needs
comparison.py    runs grouped into arms, judged by one metric, with a verdict for each and the answer in a sentence
terminal.py      the comparison as a table in the terminal and as JSON

This module imports nothing, so that ``--help`` starts quickly.
"""

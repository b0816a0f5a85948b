"""The literature: published figures as goals, beside what the shipped studies reach.

    python -m benchmarks.literature --study chomsky --runs runs

cell.py      what a published figure is: its source, its statistic, and when ours counts as the same
cells.py     the figures
results.py   ours, computed from a study's runs by the statistic of the paper, and kept in results.jsonl
page.py      docs/literature.md, written from figures and results
"""

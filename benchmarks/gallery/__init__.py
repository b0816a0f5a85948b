"""The gallery: every named system, trained on real data, with its figure beside the published one.

    python -m benchmarks.gallery --data ../shared/data

systems.py   the systems, the arms of each, and the figures that they have to reach
files.py     the files that the arms read, written from the data sets
running.py   training and evaluation of an arm, as a user's commands
results.py   the kept results, results.jsonl
page.py      docs/gallery.md, written from the results
"""

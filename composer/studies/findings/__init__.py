"""What the records of runs show.

verdicts.py        the verdict on each arm against the best
compared_tasks.py  arms that were tested on the same data, ranked and judged among themselves
over_examples.py   the single test examples: differences on another test set, quality by length
rate_curves.py     the quality of tuned arms by learning rate: windows, arms not tuned, rankings that would flip
scaling.py         the laws of the arms of a ladder: exponents, crossings, the held-out size
answers.py         the answer in a sentence
"""

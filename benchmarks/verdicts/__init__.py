"""Do the verdicts of a comparison hold what they promise?

simulated.py     studies whose truth is known, as arms that the real function judges
checks.py        errors, power, intervals and the seeds needed, over many such studies
rates.py         a ranking that 3 learning rates and 12 learning rates order differently
"""

"""The plan of a study, made and checked before anything runs.

study.py           the config's section ``study``, checked and turned into a plan
study_settings.py  that section
study_checks.py    checks of that section and of the command line
ladder.py          the config's section ``study.ladder``: every arm at several sizes and numbers of steps
trial.py           a trial: one run of a sweep or a study, its overrides, its state
study_plan.py      the runs of a study: tuning by the same rule for every arm, then the final runs
budget.py          the width or the number of steps at which an arm meets the study's budget
scalable_arm.py    an arm whose model can be compiled at any width
width_search.py    the width at which a model has a wanted size, in few compilations
"""

"""Searches: every trial is drawn by Optuna from the results of those before it.

search_settings.py  the config's section ``search``
optuna_study.py     Optuna's study of a search: storage, sampler, pruner
optuna_trials.py    the trials of a search
search_pruning.py   what a trial reports to its search, and whether it ends early
"""

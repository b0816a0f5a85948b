"""What tuning and searches try.

search_space.py     the ranges that tuning and searches try, in Hydra's sweep syntax
tuning_rule.py      which points are tried, given the results of those before, until the best one is interior
tuning_settings.py  the config's section ``study.tuning``
"""

"""Series with times: what data=series (composer/data/own/series.py) is made of.

times.py       the times in the cells of a file, in many forms, as whole numbers
columns.py     which columns are the time and which are channels, with the reasons
steps.py       the step from one time to the next: a duration, months, or weekdays
rows.py        the rows of a file in the order of their times
gaps.py        the stretches without a gap, and the filling of gaps
calendar.py    calendar features of times
date_ranges.py splits by date
"""

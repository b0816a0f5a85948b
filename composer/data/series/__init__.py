"""Series with times: what data=series (composer/data/own/series.py) is made of.

times.py           the times in the cells of a file, in many forms, as whole numbers
steps.py           the step from one time to the next: a duration, months, or weekdays
series_columns.py  which columns are the time and which are channels, with the reasons
series_rows.py     the rows of a file in the order of their times
gaps.py            the stretches without a gap, and the filling of gaps
series_files.py    all of these for the files of a source
date_ranges.py     ranges of dates
segments.py        the steps of every split, by shares and ranges of dates
calendar.py        calendar features of times
window_shape.py    what is read of the windows of a file
"""

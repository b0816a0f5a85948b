"""A comparison as one HTML file, which needs no network and opens by double click.

report_page.py       the file: template, style, script and data put together, under a Content-Security-Policy
content.py           the data of the page, section by section
arms_section.py      the table of arms: quality with intervals, verdicts, costs; values in which the configs differ
curves_section.py    learning curves, thinned to what a screen shows
tuning_section.py    the trials of a tuning or a search: quality by learning rate, parameters, values, their importance
ladder_section.py    loss against size: fitted laws with bands, crossings, the held-out size
lengths_section.py   quality by the length of the test examples; quality and cost where arms differ in the length
outputs_section.py   the arms' outputs for the same inputs, with the differences from the reference
pictures_section.py  figures of one run per arm, and drawings of the arms' graphs with their differences marked
making_section.py    how the results were made: data, seeds, budgets, tuning, versions, machine, commands

The folder ``assets`` has the template, the style sheet and the scripts, which draw the charts as SVG without a library.
"""

from composer.studies.report.report_page import write_report

__all__ = ["write_report"]

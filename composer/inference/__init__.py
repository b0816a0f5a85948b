"""Using what was trained, from a checkpoint alone.

model.py           a model and what can be asked of it
find_checkpoint.py the checkpoint of a run
data.py            the run's data with changes, read with the vocabularies that the model knows
generation.py      prompts in, tokens out
prediction.py      rows in, what every head says of them out
records.py         what a head says of a row, as plain data
evaluation.py      metrics with their intervals
inspection.py      pictures of what it has learned, on a page
vectors.py         what a model makes of texts and of tokens, as vectors
export/            a graph as programs for other software

Nothing is imported here: help has to be quick.
"""

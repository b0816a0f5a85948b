"""Search for configs that break a promise: no traceback, no crash after acceptance, no leak of the future, no hang.

    python -m benchmarks.fuzz --seconds 600 --seed 1

cases.py      random configs: templates with random blocks, graphs over declared fields
tables.py     random tables of up to 60 declared fields, and a graph over each
mutations.py  damaged forms of a config: of its overrides, of its YAML
made_files.py small data files that the configs read
trial.py      what is done with one config: compose, compile, describe, check, train, resume, use, export
damage.py     damage to a file of a run's folder
shrink.py     the shortest command that still fails in the same way
search.py     the processes that try cases, their time limits, and the report
"""

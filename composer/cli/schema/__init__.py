"""A JSON schema of configs, by which editors complete, explain and check the YAML files.

meanings.py      what the comments of YAML files and docstrings say about keys
value_types.py   from the type of a key to the schema of its value
groups.py        the definitions: one for the files of every group, one for whole configs
command.py       the command schema
"""

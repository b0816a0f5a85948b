"""The catalogue: one file a block, grouped by kind. Registered name, file name and YAML name are the same."""

"""Tables and records: how a file becomes rows of named cells."""

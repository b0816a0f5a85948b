"""Sources that read the user's files: ``data=<name> data.path=...``."""

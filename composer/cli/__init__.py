"""The commands of ``python -m composer``."""

"""The version of the package, for the build, checkpoints and reports."""

__version__ = "0.1.0"

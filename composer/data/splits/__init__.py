"""The records of files as they are stored, and their division into training, validation and test."""

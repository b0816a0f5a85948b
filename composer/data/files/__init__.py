"""The user's files: opened, decompressed, read line by line; the rows that cannot be read."""

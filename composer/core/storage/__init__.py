"""Files and folders: atomic writes, locks, names, and the example files that come with the package."""

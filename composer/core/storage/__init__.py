"""Files and folders: atomic writes, names, and the example files that come with the package."""

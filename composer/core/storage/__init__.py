"""Files and folders: atomic writes, locks, names, addresses, and the example files that come with the package."""

"""What objects show of themselves at a prompt and in a notebook: short tables, and results of calls."""

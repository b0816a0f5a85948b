"""Real data that comes with Python packages, so that nothing is downloaded."""

"""Real data that comes with packages: nothing is downloaded."""

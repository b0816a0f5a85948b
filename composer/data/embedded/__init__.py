"""Real data that comes with Python packages, and sentences made with it, so that nothing is downloaded."""

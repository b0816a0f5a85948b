"""The tests, in folders that mirror the rooms of composer/. ``support`` is what they share."""

"""What a user may have meant.

aliases.py    the names of other programs for our keys
"""

"""Completion with Tab, for bash, zsh and fish.

shells.py       the scripts that bind it to the programs, and the commands completion and complete
candidates.py   what the last word of a command line may become
"""

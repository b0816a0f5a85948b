"""What becomes of a run to which everything happens: kills, flipped bits, full disks, a second writer, a dead rank.

programs.py   runs in processes of their own, and the run that nothing happened to
kills.py      kill -9 at random instants, and of one rank of two
files.py      flipped bits in every file of a run, full disks
sweeps.py     kill -9 of a sweep between its last trial and its end
writers.py    two processes that want the same run
__main__.py   the table
"""

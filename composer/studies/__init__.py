"""Many runs: sweeps and searches, and what their comparison needs.

sweep/   grids and searches that survive being killed: trials, launchers, results

This module imports nothing, so that ``--help`` starts quickly.
"""

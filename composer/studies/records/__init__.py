"""Run folders as a comparison reads them.

run_records.py  run folders, sweeps and studies read into records; broken folders are skipped with a reason
arm_names.py    names of arms: what sets runs apart besides their seeds
arms.py         arms: runs that differ in their seeds alone, and what they cost
fairness.py     warnings: arms alone with their data, other settings, missing runs
"""

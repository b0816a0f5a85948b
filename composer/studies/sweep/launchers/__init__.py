"""Launchers of trials: each asks for the next trial whenever it has room for one.

hydra_job.py        a job of a Hydra program that is sent to another process
local_processes.py  the launcher ``parallel``: several trials at once on this machine
ray_jobs.py         the launcher ``ray``: trials as tasks of a Ray cluster
slurm_jobs.py       the launcher ``slurm``: trials as jobs of a Slurm cluster
"""

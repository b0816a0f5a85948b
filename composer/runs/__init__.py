"""A run on disk: its folder, its record, its checkpoints, and what is needed to go on with it.

record.py              run.json and sweep.json as typed records
folder.py              the folder of a run: its files, and finding a run by its path
finding.py             runs, found at or below a path
sweep_folder.py        the folder of a sweep, sweep.json, and the search for an unfinished sweep
staging.py             a new folder, filled under a hidden name and renamed, so that it is whole from its first instant;
                       bytes in reserve, so that a full disk has room for the run's status
lock.py                the lock of a folder: one process works there at a time; who is there, for others to see
checkpoint.py          saving, loading and rebuilding the model of a checkpoint
checkpoint_content.py  what goes into a checkpoint, how far a run has come among it; the keys of earlier versions
checkpoint_file.py     the file of a checkpoint: safetensors with a digest
old_checkpoint_file.py files of formats 1 and 2, which are only read
tensors.py             the tensors of a checkpoint, gathered from processes and spread to them
ownership.py           whether a run was trained by this user
resume.py              the checkpoint and the config of a resumed run
"""

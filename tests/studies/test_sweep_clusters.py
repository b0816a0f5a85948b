"""Sweeps on clusters: Ray for real, on this machine; Slurm by stub commands that run a job where it is submitted."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.paths import ROOT
from tests.support.sweeps import GRID, assert_same_trials, facts, only

pytestmark = pytest.mark.slow

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
needs_submitit = pytest.mark.skipif(importlib.util.find_spec("submitit") is None, reason="submitit is not installed")


def start(folder, *arguments, **environment):
    command = [sys.executable, str(ROOT / "train.py"), *arguments]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, **output)


@needs_ray
def test_a_sweep_on_ray_that_is_stopped_goes_on_to_the_same_weights(alone, tmp_path):
    local = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    ray = ["hydra/launcher=ray", "hydra.launcher.jobs=2"]
    process = start(tmp_path, *GRID, *ray, **local)
    deadline = time.monotonic() + 200
    while not list(tmp_path.glob("runs/*/*/metrics.jsonl")):
        assert time.monotonic() < deadline, "no trial began"
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert "Go on with:\n  python train.py -m resume=" in out
    assert not {"running", "failed"} & {known["status"] for known in facts(only(tmp_path)).values() if "group" in known}

    process = start(tmp_path, "-m", f"resume=runs/{only(tmp_path).name}", *ray, **local)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 1, err  # two trials failed
    assert_same_trials(only(tmp_path), alone)


SBATCH = """#!{python}
# Runs every task of an array job here, one after the other, as Slurm would run it on a node.
import os, subprocess, sys
(script,) = [word for word in sys.argv[1:] if not word.startswith("-")]
lines = open(script).read().splitlines()
count = next((line.partition("=")[2] for line in lines if line.startswith("#SBATCH --array=")), "0-0%1")
last = int(count.partition("%")[0].partition("-")[2])
print("Submitted batch job 77", flush=True)
if os.fork() == 0:
    os.setsid()
    for task in range(last + 1):
        slurm = {{"SLURM_JOB_ID": "77", "SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(task),
                 "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
                 "SLURM_NODEID": "0", "SLURM_JOB_NODELIST": "here"}}
        quiet = {{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}}
        subprocess.run(["bash", script], env={{**os.environ, **slurm}}, check=False, **quiet)
    open(os.environ["STUB_DONE"], "w").close()
    os._exit(0)
"""

SRUN = """#!/bin/bash
while [[ "$1" == -* ]]; do
    case "$1" in --output|--error|-o|-e) shift 2 ;; *) shift ;; esac
done
exec "$@"
"""

SACCT = """#!/bin/bash
state=RUNNING; [[ -e "$STUB_DONE" ]] && state=COMPLETED
echo "JobID|State|NodeList"
for task in 0 1 2 3; do echo "77_$task|$state|here"; done
"""


@pytest.fixture
def slurm(tmp_path):
    commands = tmp_path / "bin"
    commands.mkdir()
    scripts = {"sbatch": SBATCH.format(python=sys.executable), "srun": SRUN, "sacct": SACCT, "squeue": "#!/bin/bash\n"}
    for name, text in scripts.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    return {"PATH": f"{commands}:{os.environ['PATH']}", "STUB_DONE": str(tmp_path / "done")}


@needs_submitit
def test_a_sweep_on_slurm_is_an_array_job(alone, tmp_path, slurm):
    process = start(tmp_path, *GRID, "hydra/launcher=slurm", "hydra.launcher.partition=short", **slurm)
    out, err = process.communicate(timeout=500)
    assert process.returncode == 1, out + err  # two trials failed
    sweep = only(tmp_path)
    assert_same_trials(sweep, alone)
    (script,) = (sweep / ".submitit").rglob("*submission.sh")
    text = script.read_text()
    assert "#SBATCH --partition=short" in text
    assert "#SBATCH --array=0-3%4" in text


def test_a_launcher_without_its_package_says_what_to_install(tmp_path):
    target = "hydra.launcher._target_=hydra_plugins.missing.Launcher"
    process = start(tmp_path, "-m", "seed=1,2", "hydra/launcher=slurm", target)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 2
    assert err.strip().endswith("Install it: pip install 'sequence-composer[slurm]'")

"""Sweeps on clusters: Ray for real, on this machine; Slurm by stub commands that run jobs where they are submitted."""

import importlib.util
import os
import signal
import sys
import time

import pytest

from tests.support import processes
from tests.support.paths import ROOT
from tests.support.sweeps import TINY, assert_same_state, facts, only, program, run

pytestmark = pytest.mark.slow

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
needs_submitit = pytest.mark.skipif(importlib.util.find_spec("submitit") is None, reason="submitit is not installed")


#: A cluster of one CPU on this machine. Ray would otherwise lower the priority of its processes.
RAY = ["hydra/launcher=ray", "+hydra.launcher.init.num_cpus=1"]
RAY_ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

#: Trials that last long enough to be stopped in their middle.
LONGER = [*TINY, "training.steps=200", "training.validate_every=100", "training.checkpoint_every=100"]


@needs_ray
def test_a_sweep_on_ray_that_is_stopped_goes_on_to_the_same_weights(tmp_path):
    (alone := tmp_path / "alone").mkdir()
    assert run(alone, "-m", *LONGER, "seed=2").code == 0

    process = processes.Running(program, tmp_path, ["-m", *LONGER, "seed=1,2", *RAY], environment=RAY_ENVIRONMENT)
    deadline = time.monotonic() + 200
    while not list(tmp_path.glob("runs/*/1_seed=2/metrics.jsonl")):
        assert process.process.is_alive(), process.join()
        assert time.monotonic() < deadline, "the second trial did not begin"
        time.sleep(0.02)
    process.process.terminate()
    done, sweep = process.join(), only(tmp_path)
    assert done.code == 128 + signal.SIGTERM, done.err
    assert f"Go on with:\n  python train.py -m resume=runs/{sweep.name} hydra/launcher=ray" in done.out
    assert [known["status"] for known in facts(sweep).values()] == ["finished", "stopped"]

    assert run(tmp_path, "-m", f"resume=runs/{sweep.name}").code == 0  # without Ray
    assert_same_state(sweep / "1_seed=2", only(alone) / "0")


#: Submits a job or an array, and returns before it has run. Task 0 of the first array finds a node without Python.
SBATCH = """#!{python}
import os, subprocess, sys
from pathlib import Path
script = Path(sys.argv[1])
array = [line for line in script.read_text().splitlines() if line.startswith("#SBATCH --array=")]
tasks = int(array[0].partition("%")[2]) if array else 1
state = Path(os.environ["STUB_STATE"])
number = 77 + len(list(state.glob("*.submitted")))
(state / f"{{number}}.submitted").touch()
for task in range(tasks):
    name = f"{{number}}_{{task}}" if array else str(number)
    slurm = {{"SLURM_JOB_ID": str(number), "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "here"}}
    if array:
        slurm |= {{"SLURM_ARRAY_JOB_ID": str(number), "SLURM_ARRAY_TASK_ID": str(task)}}
    run = f'bash "{{script.resolve()}}"' if (number, task) != (77, 0) else "false"
    (state / f"{{name}}.running").touch()
    line = f'{{run}}; mv {{state}}/{{name}}.running {{state}}/{{name}}.done'
    quiet = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.DEVNULL)
    subprocess.Popen(["bash", "-c", line], env={{**os.environ, **slurm}}, start_new_session=True, **quiet)
print("Submitted batch job", number)
"""

SRUN = """#!/bin/bash
while [[ "$1" == -* ]]; do
    case "$1" in --output|--error) shift 2 ;; *) shift ;; esac
done
exec "$@"
"""

SACCT = """#!/bin/bash
echo "JobID|State|NodeList"
cd "$STUB_STATE"
for job in *.running; do [[ -e $job ]] && echo "${job%.running}|RUNNING|here"; done
for job in *.done; do [[ -e $job ]] && echo "${job%.done}|FAILED|here"; done
true
"""


@pytest.fixture
def slurm(tmp_path):
    commands, state = tmp_path / "bin", tmp_path / "state"
    commands.mkdir()
    state.mkdir()
    for name, text in {"sbatch": SBATCH.format(python=sys.executable), "srun": SRUN, "sacct": SACCT}.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    path = f"{os.environ.get('PYTHONPATH', '')}:{ROOT}".lstrip(":")
    return {"PATH": f"{commands}:{os.environ['PATH']}", "STUB_STATE": str(state), "PYTHONPATH": path}


def impatient(folder, arguments):
    from composer.studies.sweep.launchers import slurm_jobs

    slurm_jobs.PATIENCE = 1.0  # seconds for a result to appear on a network file system
    program(folder, arguments)


@needs_submitit
def test_a_sweep_on_slurm_is_an_array_job_and_a_job_that_dies_is_submitted_again(alone, tmp_path, slurm):
    launcher = ["hydra/launcher=slurm", "hydra.launcher.partition=short", "hydra.launcher.cpus_per_task=1"]
    done = processes.run(impatient, tmp_path, ["-m", *TINY, "seed=1,2", *launcher], environment=slurm)
    assert done.code == 0, done.out + done.err
    sweep = only(tmp_path)
    assert [known["status"] for known in facts(sweep).values()] == ["finished", "finished"]
    for mine, seed in (("0_seed=1", 1), ("1_seed=2", 2)):
        assert_same_state(sweep / mine, alone / f"{2 * seed - 2}_seed={seed},optimiser.learning_rate=0.003")
    first, second = sorted((sweep / ".submitit").glob("*/*submission.sh"))
    assert "#SBATCH --partition=short" in first.read_text()
    assert "#SBATCH --array=0-1%2" in first.read_text()
    assert "--array" not in second.read_text()  # the job that died, once more


@needs_submitit
def test_jobs_that_slurm_refuses_end_the_sweep_with_the_reason(tmp_path, slurm):
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/bash\necho 'invalid partition specified: short' >&2; exit 1\n")
    done = processes.run(impatient, tmp_path, ["-m", *TINY, "seed=1,2", "hydra/launcher=slurm"], environment=slurm)
    assert done.code == 2
    assert "sbatch refuses the jobs: invalid partition specified: short" in done.err


def without(package, folder, arguments):
    sys.modules[package] = None
    program(folder, arguments)


@pytest.mark.parametrize(("launcher", "package"), [("slurm", "submitit"), ("ray", "ray")])
def test_a_launcher_without_its_package_says_what_to_install(tmp_path, launcher, package):
    done = processes.run(without, package, tmp_path, ["-m", *TINY, "seed=1,2", f"hydra/launcher={launcher}"])
    assert done.code == 2
    assert done.err.strip().endswith(f"Install it: pip install 'sequence-composer[{launcher}]'")

"""Flipped bits in the files of a run, and disks that are full."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.survival.programs import CONFIG, Baseline, Tally, go_on, one_sentence, run, start, status
from composer.core.problems import UserError
from composer.runs import checkpoint
from composer.runs.folder import RunFolder
from composer.runs.resume import ResumePoint

TEXTS = ("run.json", "metrics.jsonl", "samples.jsonl", "data.json", "config.yaml")


def stopped(place: Path) -> Path:
    """A run that was killed after some checkpoints and before its end."""
    program = start([*CONFIG, f"runs={place}", "name=stopped"])
    folder = RunFolder(place / "stopped")
    while not program.ended() and not (folder.previous.is_file() and checkpoint.load(folder.previous)["step"] >= 20):
        time.sleep(0.01)
    program.process.kill()
    program.wait()
    return folder.path


def flip(path: Path, draw: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place, bit = draw.randrange(len(content)), draw.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.name}, byte {place}, bit {bit}"


def flips(place: Path, baseline: Baseline, times: int, seed: int) -> Tally:
    """Flip a bit of a checkpoint, which has to be found, or of another file, with which the run has to go on."""
    tally, draw = Tally("a flipped bit"), random.Random(seed)
    whole = stopped(place)
    for number in range(times):
        folder = RunFolder(place / f"flipped{number}")
        shutil.copytree(whole, folder.path)
        texts = [folder.path / name for name in TEXTS if (folder.path / name).is_file()]
        text = number % 10 == 0
        path = draw.choice(texts if text else folder.saved())
        what = flip(path, draw)
        if not text:
            try:
                checkpoint.load(path)
                tally.faults.append(f"{what}: not found")
            except UserError as error:
                tally.expect("\n" not in str(error), f"{what}: {error}")
            tally.expect(ResumePoint.find(folder).saved is not None, f"{what}: the run cannot go on")
        if text or number % 20 == 1:  # otherwise the hours are spent on resuming
            if text:
                code, program = run([f"resume={folder.path}"])
                tally.expect(code == 0, f"{what}: exit code {code}: {program.errors}")
                same = same_weights(baseline, folder.path)
            else:
                go_on(tally, baseline, folder.path)
                same = True
            tally.expect(same, f"{what}: other weights")
        tally.count("said, went on" if not text else "went on without the file")
        shutil.rmtree(folder.path)
    return tally


def same_weights(baseline: Baseline, folder: Path) -> bool:
    found = checkpoint.load(folder / "checkpoints" / "last.safetensors")["model"]
    return all(bool((weight == found[name]).all()) for name, weight in baseline.content["model"].items())


def disks(place: Path, baseline: Baseline, times: int) -> Tally:
    """Train on disks of different sizes, from some blocks to nearly enough. Root mounts them (tmpfs)."""
    tally = Tally("a full disk")
    need = sum(path.stat().st_size for path in baseline.folder.rglob("*") if path.is_file()) + (1 << 19)
    disk = place / "disk"
    disk.mkdir()
    for number in range(times):
        size = int(4096 * (need / 4096) ** ((number + 1) / times)) // 4096 * 4096
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
        try:
            folder = disk / "runs" / f"full{number}"
            code, program = run([*CONFIG, f"runs={folder.parent}", f"name={folder.name}"])
            state = status(folder)
            if code == 0:
                tally.expect(state == "finished", f"{size} bytes: finished, but status {state}")
                tally.count("had room")
                continue
            tally.expect(code == 2 and one_sentence(program), f"{size} bytes: code {code}: {program.errors[-3:]}")
            tally.expect("No space left" in " ".join(program.errors), f"{size} bytes: {program.errors}")
            tally.expect(state in (None, "failed"), f"{size} bytes: status {state}")
            subprocess.run(["mount", "-o", "remount,size=64M", str(disk)], check=True)
            go_on(tally, baseline, folder)
            tally.count("said, nothing begun" if state is None else "said, failed, resumed")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    return tally

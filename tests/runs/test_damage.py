"""Files of a run that are damaged, missing or foreign: nothing else is lost, and one sentence says what happened."""

import json
import math
import random
import re
import shutil
import time
import zipfile

import pytest
import torch
from safetensors.torch import load_file, save_file

import composer
from composer.config.composition import compose
from composer.core.problems import UserError
from composer.core.storage.atomic_files import replaced, write_json
from composer.runs import checkpoint, checkpoint_file
from composer.runs.checkpoint_file import Damaged
from composer.runs.folder import RunFolder, cut_lines, read_metrics
from composer.runs.lock import folder_lock
from composer.runs.old_checkpoint_file import COMMENT
from composer.runs.record import RunRecord
from composer.runs.resume import ResumePoint
from composer.training.run.init.pretrained import Pretrained
from composer.training.run.train import train
from tests.support.paths import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
OLD = FIXTURES / "run_of_format_2"

#: A checkpoint of format 2 with its digest.
OLD_FILE = FIXTURES / "runs_of_pt_checkpoints" / "finished" / "checkpoints" / "best.pt"


@pytest.fixture(scope="module")
def content():
    return checkpoint.load(OLD / "checkpoints" / "last.pt")


@pytest.fixture
def run(tmp_path):
    """A run of 40 steps, with the checkpoint before its last one."""
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(OLD, folder.path)
    content = checkpoint.load(folder.last)
    earlier = {**content, "step": 20, "progress": {**content["progress"], "step": 20, "validated": 20}}
    checkpoint.save(folder.last, earlier)
    checkpoint.save(folder.last, content, previous=folder.previous)
    folder.remove_old_checkpoints()
    return folder


def go_on(folder, capsys, steps=42):
    """Resume a run, and return its output."""
    outcome = train(compose([f"resume={folder.path}", f"training.steps={steps}"]), brief=True)
    assert outcome.status == "finished"
    assert checkpoint.load(folder.last)["step"] == steps
    return capsys.readouterr().out


def flip(path, bit):
    damaged = bytearray(path.read_bytes())
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)


# Digests


@pytest.fixture(params=["safetensors", "pt"])
def path(request, content, tmp_path):
    """A checkpoint of this version, and one of format 2."""
    path = tmp_path / f"last.{request.param}"
    if request.param == "pt":
        shutil.copy(OLD_FILE, path)
    else:
        checkpoint.save(path, content)
    return path


def test_every_flipped_bit_is_found(path):
    whole, draw = path.read_bytes(), random.Random(1)
    tail = [len(whole) - 1, len(whole) - COMMENT, len(whole) - COMMENT - 1, len(whole) - COMMENT - 2]
    for place in [*range(9), *draw.sample(range(len(whole)), 40), *tail]:
        flip(path, 8 * place + draw.randrange(8))
        with pytest.raises(Damaged):
            checkpoint.load(path)
        path.write_bytes(whole)
    assert checkpoint.load(path)["step"] > 0


def test_a_checkpoint_cut_at_any_place_is_damaged(path):
    whole, draw = path.read_bytes(), random.Random(1)
    for length in [*range(12), *draw.sample(range(len(whole)), 20), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(Damaged, match=r"is not a whole checkpoint|is damaged"):
            checkpoint.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Damaged):
        checkpoint.load(path)


def test_a_checkpoint_without_its_digest_is_damaged(path):
    whole = path.read_bytes()
    path.write_bytes(
        whole[: -COMMENT - 2] + b"\0\0" if path.suffix == ".pt" else whole.replace(b"sha256", b"sha257", 1)
    )
    with pytest.raises(Damaged, match="its digest is missing"):
        checkpoint.load(path)


def test_weights_alone_are_no_checkpoint(content, tmp_path):
    save_file(content["model"], tmp_path / "weights.safetensors")
    with pytest.raises(Damaged, match="is not a checkpoint of Sequence Composer"):
        checkpoint.load(tmp_path / "weights.safetensors")


def test_any_program_that_reads_safetensors_finds_the_weights_by_their_names(content, tmp_path):
    checkpoint.save(tmp_path / "last.safetensors", content)
    found = load_file(tmp_path / "last.safetensors")
    for name, weights in content["model"].items():
        assert torch.equal(found[f"model/{name}"], weights)
    assert json.loads(found["content"].numpy().tobytes())["step"] == content["step"]


def test_the_checkpoint_before_is_kept_at_every_instant(content, tmp_path):
    folder = RunFolder(tmp_path)
    folder.make()
    for step in (1, 2, 3):
        checkpoint.save(folder.last, {**content, "step": step}, previous=folder.previous)
    assert [checkpoint.load(path)["step"] for path in folder.saved()] == [3, 2]
    with pytest.raises(ZeroDivisionError), replaced(folder.last, folder.previous):
        1 / 0  # noqa: B018
    assert [checkpoint.load(path)["step"] for path in folder.saved()] == [3, 2]


def test_checkpoints_of_an_earlier_version_stay_until_others_have_their_places(content, tmp_path):
    folder = RunFolder(tmp_path)
    folder.make()
    for path in (folder.last, folder.previous, folder.best):
        shutil.copy(OLD_FILE, path.with_suffix(".pt"))
    left = []
    for path, previous in ((folder.last, folder.previous), (folder.best, None), (folder.last, folder.previous)):
        checkpoint.save(path, content, previous=previous)
        folder.remove_old_checkpoints()
        left.append([path.name for path in folder.saved()])
    assert left == [
        ["last.safetensors", "last.pt", "previous.pt", "best.pt"],
        ["last.safetensors", "last.pt", "previous.pt", "best.safetensors"],
        ["last.safetensors", "previous.safetensors", "best.safetensors"],
    ]


# Checkpoints that a run goes on from


@pytest.mark.slow
def test_a_damaged_last_checkpoint_gives_way_to_the_one_before(run, capsys):
    flip(run.last, 8 * run.last.stat().st_size - 9)
    said = go_on(run, capsys)
    assert "last.safetensors' is damaged: its content does not match its digest." in said
    assert "It is set aside as 'last.safetensors.damaged'." in said
    assert "The run goes on from the checkpoint before it, of step 20." in said
    assert [path.name for path in run.checkpoints.glob("*.damaged")] == ["last.safetensors.damaged"]


def test_a_last_checkpoint_that_is_gone_gives_way_to_the_one_before(run):
    run.last.unlink()
    point = ResumePoint.find(run)
    assert point.saved["step"] == 20
    assert point.set_aside(run) == [
        f"'{run.last}' is missing.", "The run goes on from the checkpoint before it, of step 20.",
    ]  # fmt: skip


def test_a_run_without_its_checkpoints_does_not_begin_anew(run):
    for path in run.saved():
        path.unlink()
    with pytest.raises(
        UserError, match=r"no checkpoint any more.*put last\.safetensors back from a copy, or start a new run"
    ):
        ResumePoint.find(run)
    run.update_record(status="running")
    assert ResumePoint.find(run).saved is None  # it may have been killed before its first checkpoint
    run.update_record(saved=True)
    with pytest.raises(UserError, match="no checkpoint any more"):
        ResumePoint.find(run)


def test_a_run_whose_checkpoints_are_all_damaged_says_so(run):
    for path in run.saved():
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"last\.\w+' is not a whole checkpoint.*No checkpoint of .* is whole"):
        ResumePoint.find(run)


def test_a_damaged_best_checkpoint_is_set_aside_and_measured_anew(run, content):
    checkpoint.save(run.best, content)
    flip(run.best, 8 * run.best.stat().st_size - 9)
    point = ResumePoint.find(run)
    (said,) = point.set_aside(run)
    assert said.endswith("It is set aside as 'best.safetensors.damaged', and the next validation writes another one.")
    assert point.saved["progress"]["best"] is None


def test_a_damaged_checkpoint_names_the_others_of_its_run(run):
    flip(run.last, 8 * run.last.stat().st_size - 9)
    with pytest.raises(UserError, match=rf"does not match its digest. The run has other checkpoints: {run.previous}"):
        composer.load(run.path)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", ["model", "average"])
def test_weights_that_are_not_finite_are_named_wherever_they_are_read(content, run, number, part):
    """Every reader of weights reads a checkpoint by ``checkpoint.load``: inference, init.from, resume."""
    weights = {name: tensor.clone() for name, tensor in content["model"].items()}
    weights[BIAS][3] = number
    checkpoint.save(run.last, {**content, part: weights}, previous=run.previous)
    said = rf"last\.safetensors' is not usable: its weights '{BIAS.removeprefix('nodes.')}' hold NaN or infinity"
    for read in (composer.load, lambda path: Pretrained.read(str(path))):
        with pytest.raises(UserError, match=said):
            read(run.path)
    point = ResumePoint.find(run)
    assert any(re.search(said, reason) for reason in point.damaged.values())
    assert point.saved["step"] == content["step"]


# Links of a run that may be somebody else's


def tree(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "name",
    ["config.yaml", "run.json", "metrics.jsonl", "metrics.csv", "samples.jsonl", "log.txt", ".lock", "figures",
     "checkpoints", "checkpoints/last.safetensors", "checkpoints/previous.safetensors", "figures/learning_curves.png",
     "wandb", "tensorboard", "inspect", "export", "inspect/inspect.html", "export/manifest.json"],
)  # fmt: skip
def test_nothing_is_written_through_a_link_of_a_run(run, tmp_path, name):
    """Neither by a run that is resumed nor by a command that writes beside it: every writer checks the links."""
    link, outside = run.path / name, tmp_path / "outside" / "target"
    link.parent.mkdir(exist_ok=True)
    outside.parent.mkdir()
    if link.exists():
        link.rename(outside)
    elif "." in name:
        outside.write_text("precious\n")
    else:
        outside.mkdir()
    link.symlink_to(outside)
    before = tree(tmp_path / "outside")
    writers = [lambda: train(compose([f"resume={run.path}", "training.steps=42"]), quiet=True)]
    top = name.partition("/")[0]
    if top in ("inspect", "export"):
        writers = [lambda: run.place(top)] + (writers if name == top else [])
    for write in writers:
        with pytest.raises(UserError, match=rf"{link}' is a link that leads out of .*, to '{outside}'"):
            write()
    assert tree(tmp_path / "outside") == before


def test_a_lock_is_not_taken_through_a_link(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_text("precious\n")
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match=r"cannot write '.*\.lock'"), folder_lock(tmp_path / "run"):
        pass
    assert (tmp_path / "precious").read_text() == "precious\n"


# run.json and the lines of metrics


@pytest.mark.parametrize(
    "text", [None, "", '{"status": "fini', "[1, 2]", '{"result": [1]}', '{"status": 5}', b"\xff\xfe{"]
)
def test_a_run_goes_on_without_its_run_json(run, text):
    run.record_file.unlink()
    if text is not None:
        run.record_file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(UserError, match=r"run\.json' cannot be read: .*Resume the run, which writes it anew"):
            run.read_record()
    assert "written anew" in run.mend_record()
    assert run.read_record() == RunRecord()
    run.update_record(status="running")


@pytest.mark.slow
def test_a_run_json_that_is_torn_is_set_aside_and_written_anew(run, capsys):
    run.record_file.write_text('{"status": "fini')
    assert "run.json' cannot be read: it is set aside as 'run.json.damaged' and written anew." in go_on(run, capsys)
    facts = json.loads(run.record_file.read_text())
    assert facts["status"] == "finished"
    assert facts["identifier"]
    assert (run.path / "run.json.damaged").read_text() == '{"status": "fini'


def test_run_json_is_json_whatever_the_figures_are(tmp_path):
    folder = RunFolder(tmp_path)
    deep = [{"x": -math.inf}]
    folder.update_record(result={"valid/loss": math.nan, "valid/bleu": math.inf}, resumed=deep, reason="NaN")
    plain = json.loads(folder.record_file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert plain == {
        "result": {"valid/loss": None, "valid/bleu": None}, "resumed": [{"x": None}], "reason": "NaN",
    }  # fmt: skip
    assert math.isnan(folder.read_record().result["valid/loss"])  # for those who compute with it
    folder.update_record(status="finished")
    assert json.loads(folder.record_file.read_text()) == plain | {"status": "finished"}
    write_json(tmp_path / "a.json", [math.nan])
    assert json.loads((tmp_path / "a.json").read_text()) == [None]


FOREIGN = [
    b"hello",
    b"[1]",
    b"{}",
    b'{"step": "x"}',
    b"\xff\xfe",
    b'{"step": 1, "loss": "a"}',
    b"[" * 10_000,
    b"null",
    b"",
]


@pytest.mark.parametrize("line", FOREIGN, ids=range(len(FOREIGN)))
def test_a_foreign_line_costs_no_other_line(tmp_path, line):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": step, "loss": None if step == 2 else 1.0} for step in range(1, 6)]
    lines = [json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[2:], lines[4][:5]]))
    assert list(read_metrics(path)) == rows
    said = cut_lines(path, 4)
    assert path.read_bytes() == b"\n".join([*lines[:2], line, *lines[2:4]]) + b"\n"
    assert list(read_metrics(path)) == rows[:4]
    if b"loss" not in line:
        assert said == f"'{path}': line 3 is not of this run, and skipped."


# Malformed checkpoints

BIAS = "nodes.output.project.bias"
WRONG = [[], [1, 2], {}, "text", 3, 1.5, None, True, {"a": {"b": []}}, {1: 2}, torch.zeros(2), -1, float("nan")]


def paths(value, depth):
    """The keys by which every value of a tree is found, down to a depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (key,)
        if depth > 1:
            yield from ((key, *rest) for rest in paths(inner, depth - 1))


def changed(value, path, new):
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new) if path[1:] else new
    return copy


def write(content, path):
    checkpoint_file.write(path, content)


#: What writes a checkpoint of this version, and one of format 2.
WRITERS = [write, torch.save]


def use(content, path, write=write):
    """What every command does with a checkpoint before it computes."""
    write(content, path)
    found = checkpoint.load(path)
    graph, _ = checkpoint.rebuild(found)
    return graph


@pytest.mark.slow
def test_a_malformed_checkpoint_is_refused_in_a_sentence_or_works(content, tmp_path):
    draw = random.Random(1)
    places = [path for path in paths(content, 3) if path[0] not in ("init",)]
    for place in draw.sample(places, 40):
        new = draw.choice(WRONG)
        began = time.monotonic()
        try:
            use(changed(content, place, new), tmp_path / "bad.pt", draw.choice(WRITERS))
        except UserError:
            pass
        except Exception as error:
            raise AssertionError(f"{place} = {new!r}: {type(error).__name__}: {error}") from error
        assert time.monotonic() - began < 20, place


@pytest.mark.parametrize(
    ("place", "new", "words"),
    [
        (("config",), [1], "'config' should be a mapping, and is a list"),
        (("config", "model"), [1], r"'config\.model' should be a mapping, and is a list"),
        (("model",), [1], "'model' should be a mapping, and is a list"),
        (
            ("model", "nodes.output.project.bias"),
            "text",
            r"'model\.nodes\.output\.project\.bias' should be a tensor, and is a str",
        ),
        (("step",), "1", "'step' should be a whole number, and is a str"),
        (("step",), -1, "'step' is -1"),
        (("format",), "2", "'format' should be a whole number, and is a str"),
        (("progress", "stepp"), 1, "'progress' has an unknown 'stepp'"),
        (("ranks",), {}, "'ranks' should be a list"),
        (("ranks", 0, "random", "cpu"), torch.zeros(3), "the state of the random numbers"),
        (("source",), [], "'source' should be a mapping"),
        (("optimiser", BIAS, "exp_avg"), torch.zeros(3), r"the optimiser's 'exp_avg' of '.*' has the shape \(3,\)"),
        (("config", "data", "type"), [], r"'config\.data\.type' should be a text, and is a list"),
    ],
)
@pytest.mark.parametrize("write", WRITERS)
def test_what_is_wrong_with_a_checkpoint_is_said(content, tmp_path, place, new, words, write):
    bad = changed(content, place, new)
    with pytest.raises(UserError, match=words):
        use(bad, tmp_path / "bad.pt", write)


def test_a_tensor_that_claims_more_values_than_an_old_file_stores_is_refused(content, tmp_path):
    bad = changed(content, ("model", BIAS), torch.zeros(1).expand(52))
    with pytest.raises(UserError, match="more values than are stored"):
        use(bad, tmp_path / "bad.pt", torch.save)


def test_a_width_that_the_weights_do_not_have_allocates_nothing(content, tmp_path, monkeypatch):
    config = json.loads(json.dumps(content["config"]).replace('"dim": 8', '"dim": 4000000'))
    assert config != content["config"]
    monkeypatch.setattr("composer.graph.graph.Graph.materialise", lambda *_: pytest.fail("weights were allocated"))
    with pytest.raises(UserError, match="the checkpoint is of another model"):
        use({**content, "config": config}, tmp_path / "wide.pt")
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(OLD, folder.path)
    checkpoint.save(folder.last, {**content, "config": config})
    before = folder.record_file.read_bytes()
    with pytest.raises(UserError, match="the checkpoint is of another model"):
        train(compose([f"resume={folder.path}", "training.steps=50"]))
    assert folder.record_file.read_bytes() == before


def test_a_file_that_unpacks_to_more_than_its_size_is_refused(content, tmp_path):
    torch.save(content, tmp_path / "whole.pt")
    with (
        zipfile.ZipFile(tmp_path / "whole.pt") as whole,
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for record in whole.infolist():
            bomb.writestr(
                record.filename, bytes(5_000_000) if record.filename.endswith("/data/0") else whole.read(record)
            )
    assert (tmp_path / "bomb.pt").stat().st_size < 1_000_000
    with pytest.raises(Damaged, match="would unpack to more than its size"):
        checkpoint.load(tmp_path / "bomb.pt")


@pytest.mark.parametrize("call", [bytearray, torch.FloatTensor, torch.Tensor])
def test_a_file_that_asks_for_memory_by_a_call_is_refused(content, tmp_path, call):
    class Large:
        def __reduce__(self):
            return call, (3_000_000_000,)

    torch.save({**content, "extra": Large()}, tmp_path / "large.pt")
    with pytest.raises(Damaged, match="something else than tensors and plain data"):
        checkpoint.load(tmp_path / "large.pt")

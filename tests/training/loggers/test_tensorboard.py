"""TensorBoard reads back what was logged, and forgets what a resumed run repeats."""

import pytest

from tests.support.loggers import info, open_loggers


@pytest.fixture
def events():
    """What TensorBoard itself reads."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def load(folder):
        return EventAccumulator(str(folder / "tensorboard")).Reload()

    return load


@pytest.mark.slow
def test_tensorboard_reads_back_what_was_logged(tmp_path, events, picture):
    opened = open_loggers({"tensorboard": {}}, info(tmp_path))
    for step in range(3):
        opened.metrics(step, {"loss": 1 / (step + 1)})
    opened.samples(2, [{"source": "a|b", "target": "c\nd"}, {"source": "e", "score": 0.5}])
    opened.figure("attention", picture, 2)
    opened.finish("finished", {"valid/loss": 0.25})
    found = events(tmp_path)
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [
        (0, 1),
        (1, 0.5),
        (2, pytest.approx(1 / 3)),
    ]
    assert (found.Images("attention")[0].width, found.Images("attention")[0].height) == (5, 3)
    text = found.Tensors("samples/text_summary")[0].tensor_proto.string_val[0].decode()
    assert text.splitlines()[0] == "| source | target | score |"
    assert text.splitlines()[2] == r"| a\|b | c d |  |"
    assert found.Scalars("best/valid/loss")[0].value == 0.25


def test_tensorboard_forgets_what_a_resumed_run_repeats(tmp_path, events):
    opened = open_loggers({"tensorboard": {}}, info(tmp_path))
    for step in range(6):
        opened.metrics(step, {"loss": 1.0})
    opened.finish("failed", {})
    opened = open_loggers({"tensorboard": {}}, info(tmp_path, resumed_from=3))
    for step in range(4, 8):
        opened.metrics(step, {"loss": 2.0})
    opened.finish("finished", {})
    assert [(event.step, event.value) for event in events(tmp_path).Scalars("loss")] == [
        (0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2), (7, 2),
    ]  # fmt: skip

"""Series with gaps: windows never cross one, filled steps are inputs only, and splits by date do not share a target."""

from datetime import datetime, timedelta
from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.source import SPLITS
from composer.objectives import load_objective

START = datetime(2018, 1, 1)
LENGTH, HORIZON = 3, 2


def write(path, times, values):
    """A file in which a value of None is a missing cell."""
    cells = ["NA" if value is None else value for value in values]
    rows = (f"{time},{cell},{7 * i % 5}\n" for i, (time, cell) in enumerate(zip(times, cells, strict=True)))
    path.write_text("time,x,y\n" + "".join(rows))
    config = {"type": "series", "path": str(path), "channels": ["x", "y"], "length": LENGTH, "horizon": HORIZON}
    return {**config, "normalise": False, "valid": 0}


def hourly(places):
    return [START + timedelta(hours=place) for place in places]


def windows(source, split):
    """The numbers x of every example, which are the hours of its steps, and what its targets count for."""
    rows = range(source.size(split))
    batch = source.batch(split, rows)
    steps = torch.cat([batch["source"].values[..., 0], batch["target"].values[..., 0]], 1)
    weights = source.step_weights(split, rows).get("target", torch.ones(len(rows), HORIZON))
    return steps.tolist(), weights.tolist()


@st.composite
def holed(draw):
    """The hours of a file, those of them without a value, and those whose row is bad."""
    present = draw(st.lists(st.booleans(), min_size=50, max_size=70))
    first = range(LENGTH + HORIZON)  # is whole, so that there is a window to train on
    hours = [*first, *(len(first) + hour for hour, there in enumerate(present) if there or hour % 5)]
    missing = draw(st.sets(st.sampled_from(hours), max_size=4)) - {*first}
    bad = draw(st.sets(st.sampled_from(hours), max_size=3)) - {*first}
    return hours, missing, bad - missing


@pytest.mark.slow
@settings(max_examples=15)
@given(file=holed(), stride=st.integers(1, 3), splits=st.sampled_from([(0.2, 0.1), ("2018-01-02..2018-01-02", 0.1)]))
def test_no_window_of_any_split_crosses_a_gap(tmp_path_factory, file, stride, splits):
    hours, missing, bad = file
    config = write(
        tmp_path_factory.mktemp("series") / "a.csv",
        hourly(hours),
        [None if hour in missing else "bad" if hour in bad else hour for hour in hours],
    )
    source = load_source({**config, "stride": stride, "valid": splits[0], "test": splits[1], "skip_bad": True})
    found = {split: windows(source, split)[0] for split in SPLITS}
    for steps in (row for rows in found.values() for row in rows):
        assert all(later - earlier == 1 for earlier, later in pairwise(steps))
        assert not set(steps) & (missing | bad)
    if stride == 1:  # and no window is lost
        there = set(hours) - missing - bad
        every = [hour for hour in there if set(range(hour, hour + LENGTH + HORIZON)) <= there]
        ends = [row[-1] for rows in found.values() for row in rows]
        assert set(ends) <= {hour + LENGTH + HORIZON - 1 for hour in every}
        assert len(ends) >= len(every) - 4 * (LENGTH + HORIZON), "only windows over the border of a split are missing"


@pytest.mark.slow
@settings(max_examples=15)
@given(file=holed(), fill=st.sampled_from(["linear", "previous", "mask"]))
def test_filled_steps_are_contiguous_and_never_count_as_targets(tmp_path_factory, file, fill):
    hours, missing, bad = file
    values = [None if hour in missing else "bad" if hour in bad else hour for hour in hours]
    path = tmp_path_factory.mktemp("series") / "a.csv"
    source = load_source({**write(path, hourly(hours), values), "fill": fill, "skip_bad": True, "channels": ["x"]})
    there = set(hours) - missing - bad
    steps, weights = windows(source, "train")
    times = source.times("target", "train", range(len(steps)), HORIZON)
    for row, counts, when in zip(steps, weights, times, strict=True):
        first = (datetime.fromisoformat(when[0]) - START) // timedelta(hours=1) - LENGTH
        due = list(range(first, first + LENGTH + HORIZON))
        held = [max(hour for hour in there if hour <= step) for step in due]  # the last measured one
        for place, (value, step) in enumerate(zip(row, due, strict=True)):
            later = any(hour in there for hour in due[place:LENGTH]) and place < LENGTH
            assert value == pytest.approx(step if fill == "linear" and later else held[place])
        assert counts == [float(step in there) for step in due[LENGTH:]]
        assert any(counts)
        if fill == "mask":
            row_number = steps.index(row)
            mask = source.batch("train", [row_number])["source"].values[0, :, -1].tolist()
            assert mask == [float(step in there) for step in due[:LENGTH]]


def test_an_interpolated_input_tells_nothing_of_the_steps_to_forecast(tmp_path):
    values = [0.0, 1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0]
    found = []
    for after in (4.0, 400.0):
        config = write(tmp_path / "a.csv", hourly(range(8)), [*values[:4], after, *values[5:]])
        source = load_source({**config, "channels": ["x"], "fill": "linear"})
        found.append(source.batch("train", [1])["source"].values.tolist())  # steps 1, 2, 3; 4 and 5 are the target
    assert found[0] == found[1]


@pytest.mark.parametrize("sort", [False, True])
def test_steps_that_were_not_measured_count_neither_in_loss_nor_in_metrics(tmp_path, sort):
    config = write(tmp_path / "a.csv", hourly(range(12)), [None if hour == 4 else hour for hour in range(12)])
    source = load_source({**config, "fill": "previous", "sort": sort})
    batch = load_objective({"type": "supervised"}, source).batch("train", [0, 3])
    assert batch.weight("target").tolist() == [[1, 0], [1, 1]]


@pytest.mark.slow
@settings(max_examples=15)
@given(
    first=st.integers(0, 60), days=st.integers(1, 30), also=st.none() | st.integers(0, 60), share=st.booleans()
)  # fmt: skip
def test_splits_by_date_share_no_target_and_reach_back_for_inputs(tmp_path_factory, first, days, also, share):
    times = [START.date() + timedelta(days=day) for day in range(91)]
    config = write(tmp_path_factory.mktemp("series") / "a.csv", times, range(91))
    test = f"{times[first]}..{times[first + days]}"
    valid = 0.1 if share else 0 if also is None else f"{times[also]}..{times[also]}"
    config |= {"test": test, "valid": valid}
    if not (also is None or share) and first <= also <= first + days:
        with pytest.raises(UserError, match="overlap"):
            load_source(config)
        return
    source = load_source(config)
    targets = [{step for row in windows(source, split)[0] for step in row[LENGTH:]} for split in SPLITS]
    assert targets[2] == set(range(max(first, LENGTH), first + days + 1))
    assert not any(one & other for one, other in combinations(targets, 2))
    inputs = {step for row in windows(source, "train")[0] for step in row}
    assert not inputs & set(range(first, first + days + 1))


def test_without_times_the_rows_that_are_left_out_are_gaps(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "".join("?!\n" if i == 10 else f"{i * i}\n" for i in range(24)))
    config = {"type": "series", "path": str(path), "length": 3, "horizon": 2, "normalise": False, "valid": 0}
    source = load_source({**config, "skip_bad": True})
    roots = [[round(value**0.5) for value in row] for row in windows(source, "train")[0]]
    assert roots == [[*range(i, i + 5)] for i in [*range(6), *range(11, 20)]]
    assert any("1 gap where rows were left out (the first before" in remark for remark in source.remarks)


def test_a_file_for_prediction_has_the_last_window_of_each_stretch(tmp_path):
    path = tmp_path / "a.csv"
    config = {
        **write(path, hourly(range(30)), [hour**2 for hour in range(30)]),
        "stride": 2,
        "channels": ["x"],
        "valid": "2018-01-02..",
    }  # of the training: new files are not divided
    state = load_source(config).state()
    write(path, hourly([*range(6), *range(8, 12)]), [0, 1, 2, 3, 4, 5, 8, 9, 10, 11])
    source = load_source(config, state=state, fields={"source"})
    rows = range(source.size("test"))
    found = source.batch("test", rows)["source"].values[..., 0].tolist()
    assert found == [[1, 2, 3], [3, 4, 5], [9, 10, 11]]
    assert source.times("target", "test", rows, 1) == [[f"2018-01-01 {h:02}:00:00"] for h in (4, 6, 12)]
    write(path, hourly([*range(6), 8, 9]), range(8))
    source = load_source(config, state=state, fields={"source"})
    assert source.size("test") == 2
    assert any("after its last gap there are 2 steps, and the model reads 3" in said for said in source.remarks)


@pytest.mark.parametrize("fill", [None, "previous", "linear", "mask"])
def test_the_windows_of_several_files_are_those_of_each(tmp_path, fill):
    """The second file goes on where the first one ends, and still no window reaches from one into the other."""
    hours = {"a.csv": [*range(9), *range(11, 24)], "b.csv": range(24, 40), "c.csv": [*range(7), *range(20, 33), 35, 36]}
    config = {}
    for name, own in hours.items():
        config = write(tmp_path / name, hourly(own), [None if hour == 30 else hour for hour in own])
    config |= {"fill": fill, "valid": 0.2}
    each = [load_source({**config, "path": str(tmp_path / name)}) for name in hours]
    source = load_source({**config, "path": str(tmp_path)})
    for split in ("train", "valid"):
        parts = [windows(one, split) for one in each]
        found = [[window for part in parts for window in part[kind]] for kind in (0, 1)]
        assert list(windows(source, split)) == found
    assert any(f"3 gaps between steps of 1 hour (the first before {tmp_path}/a.csv:11, 3 hours; "
               f"the largest before {tmp_path}/c.csv:9, 14 hours)" in said for said in source.remarks)  # fmt: skip
    new = load_source({**config, "path": str(tmp_path)}, state=source.state(), fields={"source"})
    assert new.size("test") == sum(
        load_source({**config, "path": one.section["path"]}, state=one.state(), fields={"source"}).size("test")
        for one in each
    )
    ends = [f"{tmp_path}/c.csv: after its last gap there are 2 steps, and the model reads 3"] if fill is None else []
    assert [said.split(": there is")[0] for said in new.remarks if "last gap" in said] == ends


def test_an_older_checkpoint_has_no_time_and_finds_it_in_the_file(tmp_path):
    config = write(tmp_path / "a.csv", hourly([*range(9), *range(11, 20)]), range(18))
    state = load_source(config).state()
    older = {name: value for name, value in state.items() if name not in ("time", "step")}
    assert load_source(config, state=older).size("train") == load_source(config, state=state).size("train") == 10

"""What data=series finds in files: the time, its step, the channels; and what it says where something is wrong."""

import json
import math
from datetime import date, datetime, timedelta

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.series.date_ranges import DateRange
from composer.data.series.steps import Step, find_step
from composer.data.series.times import EPOCH, MICROSECOND, fitting_forms, read_date

START = datetime(2004, 3, 10, 18)


def series(path, **knobs):
    return {"type": "series", "path": str(path), "length": 4, "horizon": 2, "valid": 0, **knobs}


def table(path, header, row, count=40):
    """A file whose rows are functions of the time, hour by hour, and of their number."""
    rows = (row(START + timedelta(hours=i), i) for i in range(count))
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def wave(i):
    return f"{math.sin(i / 3):.3f}"


# Which columns are read


FILES = {
    "one column": ("date,x", lambda t, i: f"{t},{wave(i)}", ["date"], ["x"]),
    "a time after its measurement": ("x,when", lambda t, i: f"{wave(i)},{t:%d/%m/%Y %H:%M}", ["when"], ["x"]),
    "American": ("date,x", lambda t, i: f"{t:%m/%d/%Y %I:%M %p},{wave(i)}", ["date"], ["x"]),
    "two columns": ("Date;Time;CO(GT);T", lambda t, i: f"{t:%d/%m/%Y};{t:%H.%M.%S};{wave(i)};{i % 7}", ["Date", "Time"],
                    ["CO(GT)", "T"]),
    "date and hour": ("instant,dteday,yr,hr,cnt", lambda t, i: f"{i + 1},{t:%Y-%m-%d},0,{t.hour},{i % 9}",
                      ["dteday", "hr"], ["cnt"]),
    "parts": ("No,year,month,day,hour,pm2.5,wind,Is",
              lambda t, i: f"{i + 1},{t.year},{t.month},{t.day},{t.hour},{'NA' if i < 9 else i % 5},NW,0",
              ["year", "month", "day", "hour"], ["pm2.5"]),
    "parts beside a date": ("date,month,hour,x", lambda t, i: f"{t},{t.month},{t.hour},{wave(i)}", ["date"], ["x"]),
    "no time": ("a,b", lambda t, i: f"{wave(i)},{i % 3}", None, ["a", "b"]),
    "numbers that look like months": ("pressure", lambda t, i: f"{1001 + i % 12}.{i % 9 + 1}", None, ["pressure"]),
    "mostly missing": ("date,x,y", lambda t, i: f"{t},{wave(i)},{i % 5 if i % 5 == 0 else ''}", ["date"], ["x"]),
    "nothing but row numbers": ("n", lambda t, i: f"{i}", None, ["n"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_columns_that_a_person_would_choose_are_read_and_the_others_named(tmp_path, name):
    header, row, time, channels = FILES[name]
    source = load_source(series(table(tmp_path / "a.csv", header, row)))
    assert list(source.fields["source"].contents.names) == channels
    assert (source.files.form.names if source.files.form else None) == time
    if time is not None:
        assert source.files.step == Step("duration", 3600 * 10**6)
        hours = source.times("target", "train", [source.size("train") - 1], 2)[0]
        assert hours == [str(START + timedelta(hours=i)) for i in (38, 39)]
    columns = header.replace(";", ",").split(",")
    remarks = " ".join(source.remarks)
    for column in columns if len(columns) > 1 and time else ():
        assert column in remarks
    for column in set(columns) - set(channels) - set(time or ()):
        assert f"{column} (" in remarks.partition("not read: ")[2], "with its reason"


def test_columns_that_are_not_chosen_have_reasons(tmp_path):
    header, row, *_ = FILES["parts"]
    source = load_source(series(table(tmp_path / "a.csv", header, row)))
    read = "reads pm2.5 (data.channels) at the times in year month day hour (data.time)"
    left = "not read: No (row numbers), wind (no numbers, e.g. 'NW'), Is (always 0)"
    assert source.remarks[0] == f"{tmp_path}/a.csv: {read}; {left}."
    named = load_source(series(tmp_path / "a.csv", channels=["Is"], time=None))
    assert named.fields["source"].contents.names == ("Is",)


def test_a_measurement_that_begins_late_in_a_long_file_is_found(tmp_path):
    path = table(tmp_path / "a.csv", "x,late", lambda t, i: f"{wave(i)},{'' if i < 1500 else i % 4}", 3000)
    assert load_source(series(path)).fields["source"].contents.names == ("x", "late")


def test_decimal_commas_and_values_that_stand_for_missing_ones(tmp_path):
    """As the air quality data of Vito et al. (2008): -200 is a missing value, and lines end with empty cells."""
    (tmp_path / "a.csv").write_text(
        "Date;Time;CO(GT);T;NMHC(GT);;\n" + "".join(
            f"{t:%d/%m/%Y};{t:%H.%M.%S};{'-200' if i % 8 == 7 else f'2,{i % 10}'};{i % 7 + 10},6;-200;;\n"
            for i in range(40) for t in [START + timedelta(hours=i)]
        ) + ";;;;;;\n" * 3
    )  # fmt: skip
    source = load_source(series(tmp_path / "a.csv", missing=["NA", -200], normalise=False, length=4, horizon=2))
    assert source.fields["source"].contents.names == ("CO(GT)", "T")
    assert source.show("source", source.batch("train", [2])["source"]) == ["2.8 11.6; 2.9 12.6; 2 13.6; 2.1 14.6"]
    assert source.size("train") == 5 * 2
    assert "NMHC(GT) (no value)" in source.remarks[0]
    assert any("5 rows without a value (CO(GT) 5)" in remark for remark in source.remarks)


def test_rows_of_json_need_the_columns_that_are_read_alone(tmp_path):
    rows = [{"date": f"2018-01-{day:02}", "x": day * day} | ({"note": "x"} if day < 4 else {}) for day in range(1, 20)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load_source(series(tmp_path / "a.jsonl")).size("train") == 19 - 6 + 1


def test_a_column_that_is_named_tells_that_there_is_a_header(tmp_path):
    (tmp_path / "a.csv").write_text(
        "when,x\n" + "".join(f"2018-01-{day:02},{'NA' * (day < 3) or day}\n" for day in range(1, 20))
    )
    source = load_source(series(tmp_path / "a.csv", channels=["x"]))
    assert source.size("train") == 17 - 6 + 1
    assert source.files.form.names == ["when"]
    numbered = load_source(series(tmp_path / "a.csv", channels=["x"], time=1))
    assert numbered.times("target", "train", [0], 1) == source.times("target", "train", [0], 1)


# Times and steps


@given(
    moment=st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)).map(lambda t: t.replace(microsecond=0)),
    form=st.sampled_from(
        ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d/%m/%Y %H:%M:%S", "%d.%m.%Y %H.%M.%S", "%m/%d/%Y %I:%M:%S %p",
         "%d-%b-%Y %H:%M:%S", "%B %d, %Y %H:%M:%S", "%Y%m%d %H:%M:%S", "%Y/%m/%d %H:%M:%SZ"]
    ),
)  # fmt: skip
def test_a_time_is_read_in_the_form_that_it_was_written_in(moment, form):
    text = moment.strftime(form)
    assert moment in [EPOCH + read_date(text, fitting) * MICROSECOND for fitting in fitting_forms([[text]])]


def test_offsets_fractions_and_ends_of_days_are_read():
    assert read_date("2018-03-01 00:30:00.25+01:00", "ymd") == read_date("2018-02-28T23:30:00.250Z", "ymd")
    assert read_date("2018-02-28 24:00", "ymd") == read_date("2018-03-01", "ymd")
    assert all(
        read_date(text, "ymd") is None for text in ("2018-13-01", "2018-02-30", "2018", "12", "x", "2018-01-01 25:00")
    )


def micro(times):
    return torch.tensor([(datetime(*time.timetuple()[:6]) - EPOCH) // MICROSECOND for time in times])


STEPS = {
    "months": ([date(2018 + i // 12, i % 12 + 1, 1) for i in range(30)], "1 month"),
    "ends of months": ([date(2018 + (i + 1) // 12, (i + 1) % 12 + 1, 1) - timedelta(1) for i in range(30)], "1 month"),
    "quarters": ([date(2010 + i // 4, 3 * (i % 4) + 1, 1) for i in range(30)], "3 months"),
    "years": ([date(1950 + i, 1, 1) for i in range(30)], "1 year"),
    "weekdays": ([d for i in range(40) if (d := date(2018, 1, 1) + timedelta(i)).weekday() < 5], "1 weekday"),
    "days": ([date(2018, 1, 1) + timedelta(i) for i in range(40)], "1 day"),
    "weeks": ([date(2018, 1, 1) + timedelta(7 * i) for i in range(40)], "1 week"),
    "quarters of an hour": ([START + timedelta(minutes=15 * i) for i in range(40)], "15 minutes"),
}


@pytest.mark.parametrize("name", STEPS)
def test_regular_steps_have_no_gap_and_go_on_as_they_came(name):
    times, words = STEPS[name]
    held = micro(times)
    step = find_step([held[:-3]], dates=True)
    assert str(step) == words
    assert step.between(held).tolist() == [1] * (len(times) - 1)
    later = step.later(held[-4].expand(3).contiguous(), torch.tensor([1, 2, 3]))
    assert torch.equal(later, held[-3:])
    assert step.between(held[[0, 1, 4]]).tolist() == [1, 3]


def test_times_may_be_plain_numbers(tmp_path):
    path = table(tmp_path / "a.csv", "t,x", lambda t, i: f"{0.1 * (i + (i > 20)):.1f},{wave(i)}")
    source = load_source(series(path, time="t", test="3.6.."))
    assert source.times("target", "train", [0], 2) == [["0.4", "0.5"]]
    assert source.size("test") == 5 - 2 + 1
    assert any("1 gap between steps of 0.1 (the first before" in remark for remark in source.remarks)


def test_calendar_features_are_sines_and_cosines_of_the_cycle(tmp_path):
    path = table(tmp_path / "a.csv", "date,x", lambda t, i: f"{t},{wave(i)}")
    features = ["minute", "hour", "weekday", "day", "day_of_year", "month"]
    source = load_source(series(path, calendar=features))
    assert source.fields["source"].contents.names[:5] == ("x", "minute_sin", "minute_cos", "hour_sin", "hour_cos")
    assert source.fields["target"].contents.names == ("x",)
    times = [START + timedelta(hours=7 + i) for i in range(4)]
    shares = [[0, t.hour / 24, t.weekday() / 7, (t.day - 1) / 31, (t.timetuple().tm_yday - 1) / 366, (t.month - 1) / 12]
              for t in times]  # fmt: skip
    wanted = [[wave(2 * math.pi * share) for share in row for wave in (math.sin, math.cos)] for row in shares]
    found = source.batch("train", [7])["source"].values[0, :, 1:]
    torch.testing.assert_close(found, torch.tensor(wanted), atol=1e-5, rtol=0)
    assert source.show("source", source.batch("train", [7])["source"])[0].count(";") == 3, "the measurements alone"
    with pytest.raises(UserError, match=r"the model reads calendar features \(minute, .*typed steps have no times"):
        source.encode("source", ["1; 2; 3; 4"])


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2018", datetime(2018, 1, 1), datetime(2019, 1, 1)),
        ("2018-2", datetime(2018, 2, 1), datetime(2018, 3, 1)),
        ("2018-12-31", datetime(2018, 12, 31), datetime(2019, 1, 1)),
        ("2018-01-01 9", datetime(2018, 1, 1, 9), datetime(2018, 1, 1, 10)),
        ("2018-01-31T24:00", datetime(2018, 2, 1), datetime(2018, 2, 1, 0, 1)),
        ("2018-01-01T23:59:59", datetime(2018, 1, 1, 23, 59, 59), datetime(2018, 1, 2)),
    ],
)
def test_the_end_of_a_range_stands_for_all_of_its_unit(text, first, after):
    times = torch.tensor([(time - EPOCH) // MICROSECOND for time in (first, after)])
    times = (times[:, None] + torch.tensor([-1, 0])).flatten()
    assert DateRange("test", f"{text}..{text}").rows(times, dates=True) == (1, 3)


# What is wrong is said in one sentence


def hours(*places):
    return "date,x\n" + "".join(f"{START + timedelta(hours=place)},{wave(i)}\n" for i, place in enumerate(places))


@pytest.mark.parametrize(
    ("text", "knobs", "words"),
    [
        (hours(*range(9), 4, *range(20, 30)), {},
         ["a.csv:11: its time, 2004-03-10 22:00:00, comes before that of line 10, 2004-03-11 02:00:00.",
          "data.sort=true", "data.time=null", "Several series need a file each."]),
        (hours(*range(9), 8, 8), {},
         ["a.csv:11: its time, 2004-03-11 02:00:00, is that of line 10, too (2 such rows)"]),
        (hours(*range(20)) + "soon,1\n", {"time": "date"},
         ["data.time", "the cells are read as no time", "e.g. '2004-03"]),
        (hours(*range(1001)) + "soon,1\n", {},
         ["a.csv:1003: the time (date) is 'soon', which is none.", "skip_bad=true"]),
        (hours(*range(20)), {"time": "when"}, ["data.time", "there is no column 'when'"]),
        (hours(*range(20)), {"time": "x", "channels": ["x"]}, ["data.time", "'x' is a channel, too"]),
        (hours(*range(20)), {"test": "2005-01-01.."},
         ["data.test", "'2005-01-01..' holds no row", "from 2004-03-10 18:00:00 to 2004-03-11 13:00:00"]),
        (hours(*range(20)), {"test": "2004.."}, ["data.test", "'2004..' leaves no row to train on"]),
        (hours(*range(20)), {"test": "2004-03-11..", "valid": "2004-03-11T05..2004-03-11T06"},
         ["data.test", "overlap", "data.valid=2004-03-11T05"]),
        (hours(*range(20)), {"test": "yesterday.."}, ["data.test", "'yesterday..' is no range of dates"]),
        (hours(*range(20)), {"test": "2018..2017"}, ["data.test", "ends before it begins"]),
        (hours(*range(20)), {"test": "2018-01-01..", "time": None}, ["data.test", "no column of times was found"]),
        ("t,x\n1,5\n2,6\n3,7\n", {"test": "2018-01-01..", "time": "t"},
         ["data.test", "is a range of dates", "are numbers"]),
        (hours(*range(20)), {"calendar": ["hour"], "time": None}, ["data.calendar", "no column of dates was found"]),
        (hours(*range(20)).replace("x", "hour_sin"), {"calendar": ["hour"]},
         ["data.channels", "'hour_sin' is the name"]),
        (hours(*(hour for hour in range(60) if hour % 5)), {"length": 9},
         ["data.length 9 and data.horizon 2 need 11 steps", "the training split has 4 of", "without a gap",
          "data.fill="]),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_sentence(tmp_path, monkeypatch, text, knobs, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError) as raised:
        load_source(series("a.csv", **knobs)).size("train")
    said = " ".join(str(raised.value).split())
    for word in words:
        assert word in said, said


def test_rows_are_sorted_when_asked(tmp_path):
    rows = [(5, 5), (1, 1), (3, 3), (2, 2), (4, 4), (2, 9), (6, 6), (7, 7)]
    (tmp_path / "a.csv").write_text("date,x\n" + "".join(f"2018-01-{day:02},{x}\n" for day, x in rows))
    source = load_source(series(tmp_path / "a.csv", sort=True, normalise=False))
    assert source.show("source", source.batch("train", [0, 1])["source"]) == ["1; 2; 3; 4", "2; 3; 4; 5"]
    assert "sorted by their times, and 1 row with the time of another left out (data.sort)" in source.remarks[-1]


def test_gaps_are_said_before_training(tmp_path):
    (tmp_path / "a.csv").write_text(
        hours(*range(9), *range(11, 20), *range(70, 80)) + f"{START + timedelta(hours=80)},\n"
    )
    source = load_source(series(tmp_path / "a.csv"))
    assert source.remarks[-1] == (
        f"2 gaps between steps of 1 hour (the first before {tmp_path}/a.csv:11, 3 hours; the largest before "
        f"{tmp_path}/a.csv:20, 51 hours) and 1 row without a value (x 1): windows never cross them; data.fill=linear, "
        "previous or mask fills them."
    )

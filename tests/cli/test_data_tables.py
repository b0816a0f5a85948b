"""What the command data proposes for tables: the columns that a person would choose, or that it does not know."""

import csv
import io
import json
import shlex
from datetime import date, timedelta
from math import sin
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.cli.main import main
from composer.config.composition import compose
from composer.core import registry
from composer.data import load_source
from composer.data.survey import survey
from composer.data.survey.advice import advise

ROWS = 60
ANIMALS = ("cat", "dog", "cow", "hen", "owl")
GENRES = ("Drama", "Comedy", "Action", "Horror", "Romance")

#: Every column by its name: its cell of a row.
CELLS = {
    "text": lambda i: f"the {ANIMALS[i % 5]} of number {i} is here",
    "reply": lambda i: f"no, {ANIMALS[i % 4]} number {i} is away",
    "label": lambda i: ("good", "bad")[i % 2],
    "stars": lambda i: i * 7 % 5 + 1,
    "genres": lambda i: ", ".join(g for k, g in enumerate(GENRES) if (i + 1) >> k & 1) or "Drama",
    "price": lambda i: round(7919 * i % 83 + 0.5, 1),
    "area": lambda i: 104729 * i % 991 / 10,
    "level": lambda i: round(20 + 5 * sin(i / 7), 3),
    "flow": lambda i: round(100 - i * 0.7, 2),
    "id": lambda i: i + 1,
    "date": lambda i: str(date(2020, 1, 1) + timedelta(days=i)),
    "year": lambda i: 2020,
    "month": lambda i: 2 + i // 48,
    "day": lambda i: i // 24 % 2 + 1,
    "hour": lambda i: i % 24,
    "user": lambda i: f"u{i * 31 % 57}",
    "country": lambda i: "Peru",
    "wind": lambda i: ("NE", "SW", "calm")[i % 3],
}

#: For every task: the columns that it has, those that the file may have besides, the model, and what is read.
TASKS = {
    "a named class of a text": (["text", "label"], ["id", "date", "user", "country", "area"], "seq2vec"),
    "stars of a text": (["text", "stars"], ["id", "date", "user", "country"], "seq2vec"),
    "labels of a text": (["text", "genres"], ["id", "date", "user", "country"], "seq2vec"),
    "a number of a text": (["text", "price"], ["id", "date", "country", "user"], "seq2vec"),
    "a price of numbers": (["area", "level", "price"], ["id", "country"], "seq2vec"),
    "a class of numbers": (["area", "price", "label"], ["id", "country"], "seq2vec"),
    "a series with dates": (["date", "level", "flow"], ["id", "country", "wind"], "forecaster"),
    "a series with hours": (["year", "month", "day", "hour", "level", "area"], ["id", "country", "wind"], "forecaster"),
    "a series without dates": (["level", "flow"], ["id"], "forecaster"),
}
NEVER = {"id", "date", "year", "month", "day", "hour", "user", "country", "wind"}


def written(names, form, path):
    rows = [{name: CELLS[name](i) for name in names} for i in range(ROWS)]
    if form == "jsonl":
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    table = io.StringIO()
    delimiter = {"csv": ",", "tsv": "\t", "semicolons": ";", "decimal commas": ";"}[form]
    if form == "decimal commas":
        rows = [{n: str(c).replace(".", ",") if isinstance(c, float) else c for n, c in row.items()} for row in rows]
        rows[7] = {n: "NA" if isinstance(CELLS[n](7), float) else c for n, c in rows[7].items()}
    writer = csv.writer(table, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(row.values() for row in rows)
    Path(path).write_text(table.getvalue())


def columns_of(field):
    return set(field.get("columns") or [field["column"]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    registry.load([])
    return tmp_path_factory.mktemp("tables")


@pytest.mark.slow
@given(draw=st.data())
@pytest.mark.parametrize("task", TASKS)
def test_the_columns_that_a_person_would_choose_are_read_in_whatever_order_and_form(folder, task, draw):
    own, others, model = TASKS[task]
    names = draw.draw(st.permutations([*own, *draw.draw(st.lists(st.sampled_from(others), unique=True))]))
    form = draw.draw(st.sampled_from(["csv", "tsv", "semicolons", "jsonl", "decimal commas"]))
    path = folder / f"a.{form if form in ('tsv', 'jsonl') else 'csv'}"
    written(names, form, path)
    advice = advise(survey(str(path)))
    suggestion = advice.suggestion
    assert suggestion is not None
    assert suggestion.model == model
    read = set(own) if model == "forecaster" else set(own) - NEVER  # the time of a series is read
    assert set(advice.unread) == set(names) - read
    data = suggestion.data
    if model == "forecaster":
        assert set(data.get("channels", names)) == set(own) - NEVER
        time = data.get("time", [])
        assert set([time] if isinstance(time, str) else time) == set(own) & NEVER
    else:
        fields = data["fields"]
        assert columns_of(fields["target"]) == {own[-1]}
        assert columns_of(fields["source"]) == set(own[:-1])
        assert fields["target"]["type"] == {"genres": "classes", "price": "number"}.get(own[-1], "class")
    composed = compose(shlex.split(suggestion.command)[2:]).values["data"]
    assert {key: composed[key] for key in data} == data
    assert load_source(composed).size("train") > 0


#: Files whose columns leave open what is to be predicted.
OPEN = {
    "numbers without a hint": ["price2", "area", "other"],
    "a text and several numbers": ["text", "area", "other"],
    "three texts": ["text", "reply", "text2"],
    "a panel: several rows a date": ["when", "wind", "area"],
    "classes alone": ["wind", "label2", "country"],
}
CELLS |= {
    "price2": CELLS["price"],
    "other": lambda i: 15485863 * i % 977 / 10,
    "text2": lambda i: f"{ANIMALS[i % 3]} {i} says that all is well",
    "when": lambda i: f"2020-{i % 12 + 1:02d}-01",
    "label2": CELLS["label"],
}


@pytest.mark.parametrize("case", OPEN)
def test_where_the_columns_leave_the_task_open_no_command_is_proposed_but_choices_are(
    tmp_path, monkeypatch, capsys, case
):
    monkeypatch.chdir(tmp_path)
    written(OPEN[case], "csv", "a.csv")
    assert main(["data", "a.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["command"], found["model"]) == (None, None)
    assert main(["data", "a.csv"]) == 0
    printed = capsys.readouterr().out
    assert "The columns do not say what is to be predicted" in printed
    for command in found["choices"]:
        assert command in printed
        compose(shlex.split(command)[2:])
    assert bool(found["choices"]) == (case != "classes alone")


def test_columns_that_are_not_read_are_named_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(["id", "date", "user", "text", "country", "wind", "label"], "csv", "a.csv")
    assert main(["data", "a.csv"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    reasons = {
        "id": "counts the rows",
        "date": "the time of the row",
        "user": "single words, most of them different",
        "country": "the same in every row",
        "wind": "classes, of which data.fields.target could be made instead",
    }
    for said in (f"{column} ({reason})" for column, reason in reasons.items()):
        assert said in printed


def test_a_number_far_below_the_others_may_be_a_missing_value(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["-200" if i % 9 == 4 else str(CELLS["level"](i)) for i in range(ROWS)]
    Path("a.csv").write_text("date,level\n" + "".join(f"{CELLS['date'](i)},{cell}\n" for i, cell in enumerate(rows)))
    assert main(["data", "a.csv"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "column level holds -200 in 7 rows, far below its other values" in printed
    assert "data.missing=[-200]" in printed
    written(["date", "level", "flow"], "csv", "b.csv")
    assert main(["data", "b.csv"]) == 0
    assert "data.missing" not in capsys.readouterr().out


def test_pairs_are_found_by_names_and_notes_about_rows_are_no_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f'{CELLS["text"](i)},"{CELLS["reply"](i)}",{ANIMALS[i % 5]} number {i} then\n' for i in range(30)]
    Path("qa.csv").write_text("context,question,answer\n" + "".join(rows))
    data = advise(survey("qa.csv")).suggestion.data
    assert (data["source"], data["target"]) == (["question", "context"], "answer")
    Path("t.txt").write_text(
        "".join(f"{CELLS['text'](i)}\t{CELLS['reply'](i)}\tCC-BY 2.0 Attribution: #{i}\n" for i in range(30))
    )
    advice = advise(survey("t.txt"))
    assert set(advice.suggestion.data) == {"type", "path"}
    assert list(advice.unread) == [3]


@pytest.mark.parametrize("separator", [", ", "|", ";"])
def test_several_labels_a_cell_are_recognised_and_a_city_with_its_state_is_one(tmp_path, separator):
    cells = {"text": CELLS["text"], "genres": lambda i: CELLS["genres"](i).replace(", ", separator)}
    path = tmp_path / "a.tsv"
    path.write_text("text\tgenres\n" + "".join(f"{cells['text'](i)}\t{cells['genres'](i)}\n" for i in range(ROWS)))
    suggestion = advise(survey(str(path))).suggestion
    source = load_source({**suggestion.data, "valid": 0})
    assert source.fields["target"].contents.names == tuple(sorted(GENRES))
    first = source.batch("train", [2])["target"].values[0].tolist()  # 3: Drama and Comedy
    assert first == [0.0, 1.0, 1.0, 0.0, 0.0]
    path.write_text("text\tcity\n" + "".join(
        f"{cells['text'](i)}\t{('Boston, MA', 'Salem, MA', 'Austin, TX')[i % 3]}\n" for i in range(ROWS)))  # fmt: skip
    assert advise(survey(str(path))).suggestion.data["fields"]["target"] == {"type": "class", "column": "city"}

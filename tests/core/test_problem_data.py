"""A user's mistake as plain data: where it is, and what to write instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import ConfigError, Problem, UserError, did_you_mean, suggest

NAMES = st.text("abcdefgh_'", min_size=4, max_size=8)


@given(choices=st.lists(NAMES, min_size=1, max_size=4, unique=True), data=st.data())
def test_what_a_message_suggests_is_given_by_itself_whatever_is_around_it(choices, data):
    name = data.draw(st.sampled_from(choices)) + "x"
    message = f"there is no mixer '{name}'.{did_you_mean(name, choices)}  (mixer: {', '.join(choices)})"
    did_you_mean("another", ["anothers"])
    (problem,) = ConfigError([Problem("model.mixer", message)]).problem_data()
    assert problem["suggestion"] in choices
    assert (problem["instead_of"], problem["path"]) == (name, "model.mixer")
    assert f"Did you mean '{problem['suggestion']}'?" in message


def test_two_names_with_the_same_suggestion_are_told_apart():
    messages = [f"there is no '{name}'.{did_you_mean(name, ['heads'])}" for name in ("haeds", "head")]
    found = ConfigError([Problem(str(i), message) for i, message in enumerate(messages)]).problem_data()
    assert [(problem["instead_of"], problem["suggestion"]) for problem in found] == [
        ("haeds", "heads"), ("head", "heads"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("command line: ~a.b=3\n  has no value.", ("a.b", None, None, "~a.b=3", "has no value.")),
        ("conf/model/x.yaml:12\n  is not YAML: no.", (None, "conf/model/x.yaml", 12, None, "is not YAML: no.")),
        ("mine.tsv:7: column 'a' is empty.", (None, "mine.tsv", 7, None, "column 'a' is empty.")),
        ("stopped. Go on with:\n  python train.py", (None, None, None, None, "stopped. Go on with: python train.py")),
        ("it is 3:4 in 'a:1: b'.", (None, None, None, None, "it is 3:4 in 'a:1: b'.")),
    ],
)
def test_the_place_of_a_sentence_is_a_file_and_a_line_or_an_override(text, wanted):
    error = UserError(text).as_data()
    (problem,) = error["problems"]
    assert error["message"] == text
    assert tuple(problem[key] for key in ("path", "file", "line", "override", "message")) == wanted
    assert problem["suggestion"] is None


def test_of_several_choices_the_first_is_suggested():
    (problem,) = UserError(f"no key 'dropout'.{suggest('dropout', 'ffn.dropout', 'mixer.dropout')}").problem_data()
    assert (problem["instead_of"], problem["suggestion"]) == ("dropout", "ffn.dropout")

"""The events of a training on standard output: only they are there, and the last one is an ending."""

import json
import math
import os

import pytest

from composer.core.problems import UserError, user_errors
from composer.core.storage.json_output import ENDINGS, Events, events, events_on_stdout


def lines(capfd):
    out, err = capfd.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def test_what_else_is_printed_goes_to_standard_error(capfd):
    with events_on_stdout():
        os.write(1, b"a library that prints\n")
        events.get().write("finished", exit_code=0, value=math.nan)
    os.write(1, b"{}\n")
    found, err = lines(capfd)
    assert [event.get("event") for event in found] == ["finished", None]
    assert (found[0]["value"], found[0]["folder"]) == (None, None)
    assert err == "a library that prints\n"
    assert events.get() is None


@pytest.mark.parametrize(
    ("error", "name", "code"),
    [
        (UserError("command line: a=1\n  is wrong."), "failed", 2),
        (ZeroDivisionError("in the program"), "failed", 1),
        (SystemExit(2), "failed", 2),
        (SystemExit(143), "stopped", 143),
        (KeyboardInterrupt(), "stopped", 130),
        (SystemExit(0), None, None),
    ],
)
def test_a_training_that_says_no_ending_has_one_with_the_exit_code(capfd, error, name, code):
    def train():
        with events_on_stdout(), user_errors():
            events.get().write("started", folder="runs/one")
            raise error

    with pytest.raises((SystemExit, ZeroDivisionError, KeyboardInterrupt)):
        train()
    found, _ = lines(capfd)
    endings = [event for event in found if event["event"] in ENDINGS]
    assert [(event["event"], event["exit_code"]) for event in endings] == ([(name, code)] if name else [])
    assert all(event["folder"] == "runs/one" and event["error"]["message"] for event in endings)


def test_a_reader_that_has_gone_stops_no_training():
    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "w") as file:
        Events(file).write("logged", step=1)
        Events(file).write("finished", exit_code=0)
        with pytest.raises(BrokenPipeError):
            file.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), theirs)

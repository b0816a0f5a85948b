"""Sweeps and studies from Python. docs/notebook.py runs a whole one; here is what can go wrong."""

import sys

import pytest

import composer
from composer import UserError
from composer.studies.program_sweep import run_program


def test_the_output_of_a_program_is_printed_as_it_comes_and_its_errors_are_returned(capfd):
    code = "import sys; print('one'); print('two'); print('wrong', file=sys.stderr); sys.exit(2)"
    assert run_program([sys.executable, "-c", code], {}, quiet=False) == (2, "wrong\n")
    assert capfd.readouterr().out == "one\ntwo\n"
    assert run_program([sys.executable, "-c", code], {}, quiet=True) == (2, "wrong\n")
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_reaches_the_program_once_and_waits_until_it_has_saved(capfd):
    code = """if True:
        import os, signal, sys, time
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        os.kill(os.getppid(), signal.SIGINT)
        while not heard:
            time.sleep(0.01)
        time.sleep(0.1)
        print('saved', len(heard))
        sys.exit(130)
    """
    assert run_program([sys.executable, "-c", code], {}, quiet=False) == (130, "")
    assert capfd.readouterr().out == "saved 1\n"


def test_overrides_are_a_list():
    with pytest.raises(UserError, match=r"'seed=1,2'"):
        composer.sweep("seed=1,2")


@pytest.mark.slow
def test_a_mistake_in_a_study_is_the_error_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"rnn_vs_transfromer.*Did you mean 'rnn_vs_transformer'") as error:
        composer.study("rnn_vs_transfromer", ["training.steps=1"])
    assert "Traceback" not in str(error.value)
    assert list(tmp_path.iterdir()) == []

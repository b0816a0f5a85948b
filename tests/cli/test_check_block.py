"""``check --block``: a user's class put to the laws in drawn configurations, or refused in one clear sentence."""

import json
import re

import pytest

from composer.cli.main import main
from composer.core import registry
from composer.testing import LAWS, LawBroken, hold, subject
from composer.testing.drawn import broken_by

HONEST = '''
import torch
from torch import nn

from composer import Positive, Seq, State


class Leaky(nn.Module):
    """A running sum."""

    causal = True

    def __init__(self, dim: int, *, keep: bool = True, width: Positive = 1) -> None:
        super().__init__()
        self.keep, self.width = keep, width
        self.scale = nn.Parameter(torch.ones(dim))

    def start(self, batch: int) -> State:
        return {"h": self.scale.new_zeros(batch, self.scale.shape[0])}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch))["h"]
        sums = (x.filled().to(before.dtype) * self.scale / self.width).cumsum(1) + before[:, None]
        return x.like(sums), None if state is None else {"h": AFTER}
'''
#: The state is forgotten, but only in one of the configurations.
BROKEN = HONEST.replace("AFTER", "sums[:, -1] if self.keep or self.width < 3 else before")

OTHERS = """
import torch
from torch import nn


class NoModule:
    pass


class NoSignals(nn.Module):
    def forward(self, x):
        return x


class NoStart(nn.Module):
    def forward(self, x, state=None):
        return x, state
"""


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder with the files above: the exit code and what is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "honest.py").write_text(HONEST.replace("AFTER", "sums[:, -1]"))
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "others.py").write_text(OTHERS)

    def run(*words):
        try:
            code = main(["check", *words])
        except SystemExit as stop:
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.slow
def test_a_block_that_obeys_in_every_configuration(ask):
    code, out, _ = ask("--block", "honest.py:Leaky", "--json")
    assert (code, json.loads(out)["laws"]) == (0, dict.fromkeys(LAWS, ""))


@pytest.mark.slow
def test_the_configuration_that_breaks_a_law_is_shown_and_breaks_it_again(ask):
    code, out, _ = ask("--block", "broken.py:Leaky")
    assert code == 1
    assert "holds   causality" in out
    assert "BROKEN  chunks" in out
    (line,) = (line for line in out.splitlines() if line.startswith("chunks: "))
    call = re.search(r"In (subject\(.*\))$", line)[1]
    assert "keep=False, width=3" in call  # the smallest that breaks it
    scope = {"subject": subject, "Leaky": registry.import_plugin("broken.py").Leaky}
    again = eval(call, scope)
    with pytest.raises(LawBroken):
        hold(again, ["chunks"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--block", "honest.py"], "'honest.py' should be a file and a class in it, as in leaky.py:Leaky."),
        (["--block", "nothing.py:Leaky"], "there is no file 'nothing.py'"),
        (["--block", "honest.py:Leakey"], "honest.py has no class 'Leakey'. Did you mean 'Leaky'?"),
        (["--block", "others.py:NoModule"], "is no block: a block is a subclass of torch.nn.Module."),
        (["--block", "others.py:NoSignals"], "is no block: annotate 'x' in its forward with a kind of signal."),
        (["--block", "others.py:NoStart"], "is no block: its forward takes a state, but it has no method start(batch)"),
        (["--block", "honest.py:Leaky", "mixer=lstm"], "'mixer=lstm' would have no effect."),
    ],
)
def test_what_is_no_block_is_one_clear_sentence(ask, words, said):
    code, out, err = ask(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_block_that_acts_only_inside_another_is_checked_there():
    found = broken_by(registry.blocks("position")["alibi"])
    assert set(found) == set(LAWS)
    assert not any(found.values()), found


def test_a_required_parameter_that_cannot_be_drawn_asks_for_an_example(ask, tmp_path):
    text = HONEST.replace("AFTER", "sums[:, -1]").replace("keep: bool = True", "path: str").replace("keep, ", "path, ")
    (tmp_path / "needs.py").write_text(text.replace("= keep, width", "= path, width"))
    code, _, err = ask("--block", "needs.py:Leaky")
    assert code == 2
    assert "Name one on the class: example = {'path': ...}" in err

"""Entries of a folder that cannot be read end in one sentence that names them, whatever the system's error is."""

import errno
import os

import pytest

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.files.lines import typed_file
from composer.data.survey.surveying import survey

ERRORS = [errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOTCONN]


@pytest.fixture
def unreadable(tmp_path, monkeypatch):
    """A folder with an entry that the system does not let us look at, as a program's own entries in /proc are."""
    for name in ("a/one.tsv", "b/two.tsv"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("a b c\tred\n" * 20)

    def make(number, entry):
        def refuse(real):
            def call(path, *arguments, **keywords):
                if os.fspath(path) == str(tmp_path / entry):
                    raise OSError(number, os.strerror(number), os.fspath(path))
                return real(path, *arguments, **keywords)

            return call

        monkeypatch.setattr(os, "stat" if "." in entry else "scandir", refuse(os.stat if "." in entry else os.scandir))
        return tmp_path

    return make


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("entry", ["b", "b/two.tsv"])
@pytest.mark.parametrize("read", [survey, lambda path: load_source({"type": "labelled", "path": path})])
def test_an_entry_that_cannot_be_read_is_named(unreadable, number, entry, read):
    folder = unreadable(number, entry)
    with pytest.raises(UserError) as refused:
        read(str(folder))
    said = " ".join(str(refused.value).split())
    assert f"'{folder / entry}' cannot be read: {os.strerror(number)}" in said


def test_a_typed_file_that_cannot_be_looked_at_is_named(unreadable):
    folder = unreadable(errno.EACCES, "b/two.tsv")
    with pytest.raises(UserError, match=r"two\.tsv' cannot be read: Permission denied"):
        typed_file(str(folder / "b" / "two.tsv"))


@pytest.mark.parametrize("name", ["words.conll", "words.conllu", "table.csv", "lines.jsonl"])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_a_row_is_named(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=rf"{name}: (holds no row|holds no record|is empty)\."):
        survey(str(tmp_path / name))

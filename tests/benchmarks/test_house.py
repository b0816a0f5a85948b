"""The script that measures the size of the code and the hops of a command."""

from benchmarks.house import code_lines, follow


def test_blanks_comments_and_docstrings_are_not_code(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""About."""\n\n# why\ndef double(x):\n    """Twice."""\n    return [\n        2 * x,\n    ]\n')
    assert code_lines(module) == 4


def test_a_function_that_is_called_twice_is_one_hop(tmp_path):
    (tmp_path / "train.py").write_text(
        "def one():\n    pass\n\n\none()\none()\n[two for two in map(lambda x: x, 'ab')]\n"
    )
    assert follow(tmp_path, tmp_path, ["train.py"]) == {("train.py", "one")}

"""The script that measures the size of the code and the hops of a command."""

from benchmarks.house import code_lines, follow


def test_blanks_comments_and_docstrings_are_not_code(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""About."""\n\n# why\ndef double(x):\n    """Twice."""\n    return [\n        2 * x,\n    ]\n')
    assert code_lines(module) == 4


def test_functions_entered_and_hops_are_counted_once(tmp_path):
    (tmp_path / "train.py").write_text(
        "def aside():\n    pass\n\n\ndef inner():\n    aside()\n    print('x')\n\n\ndef outer():\n    inner()\n\n\n"
        "outer()\nouter()\n[two for two in map(lambda x: x, 'ab')]\n"
    )
    entered, hops = follow(tmp_path, tmp_path, ["train.py"])
    assert entered == {("train.py", name) for name in ("aside", "inner", "outer")}
    assert hops == {("train.py", name) for name in ("inner", "outer")}  # under way when something is printed


def test_hops_end_with_the_last_call_that_is_followed(tmp_path):
    (tmp_path / "train.py").write_text(
        "import subprocess, sys\n\n\ndef start():\n    subprocess.Popen([sys.executable, '-c', '']).wait()\n\n\n"
        "def after():\n    print('x')\n\n\nstart()\nafter()\n"
    )
    entered, hops = follow(tmp_path, tmp_path, ["train.py"], last="Popen.__init__")
    assert entered == {("train.py", "start"), ("train.py", "after")}
    assert hops == {("train.py", "start")}

"""Command lines that once ended in a traceback, in a crash, or in a run of nonsense: one sentence
each, and exit code 2."""

import pytest

LINES = {
    "audit /abs/missing": "neither a task nor a run folder",
    "audit ./runs/x": "neither a task nor a run folder",
    "train runs/a/b": "neither a task nor a run folder",
    "audit craft --seed -1": "--seed must be at least 0, got -1",
    "train .mod:make": "A task of your own is module:factory, got '.mod:make'",
    "train sys:exit --preset smoke": "asked the program to exit",
    "train sys:exit --preset smoke --trust-task": "asked the program to exit",
    "train craft --filters 100000000": "--network.filters must be at most 1,024",
    "train craft --frames 99999999999999999999": "--frames must be at most",
    "bench layers --threads 100000": "--threads must be at most 1,024",
    "train craft --obs pixels --preset smoke --noise 1e30": "--noise is a standard deviation from",
    "train trading --preset smoke --max-shares 99999999999999999999": "--max-shares must be",
    "train craft --device os": "A device is cpu or cuda",
    "report /dev/zero --out a.html": "/dev/zero is no regular file",
    "study /dev/zero.toml": "Cannot read /dev/zero.toml",
    "study claims --from /dev/zero": "/dev/zero is no regular file",
}


@pytest.mark.parametrize("line", LINES)
def test_one_sentence(line, tmp_path, monkeypatch, capsys):
    from nearsym.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(line.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("nearsym: ")
    assert said.err.count("\n") == 1
    assert LINES[line] in said.err
    assert not list(tmp_path.iterdir())

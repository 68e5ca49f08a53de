"""Commands run in this process, in an empty folder."""

import json
from typing import NamedTuple

import pytest


class Result(NamedTuple):
    """What a command left: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output, which has to be one JSON object and nothing else."""
        return json.loads(self.out)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """`command("train", …)` as on the command line, in an empty folder."""
    from nearsym.cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(*argv):
        capsys.readouterr()
        code = run([str(word) for word in argv])
        return Result(code, *capsys.readouterr())

    return call

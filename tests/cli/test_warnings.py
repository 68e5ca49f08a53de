"""Remarks of nearsym to its user are plain lines; those of libraries keep their usual form."""

import warnings

import pytest

from nearsym.cli import main as command
from nearsym.training.checkpoint import CheckpointWarning


def remark(category):
    """A command that has something to say."""
    warnings.warn("old one used", category, stacklevel=1)
    return 0


@pytest.mark.parametrize(
    ("category", "expected"),
    [(CheckpointWarning, "nearsym: old one used\n"), (RuntimeWarning, "RuntimeWarning: old one")],
)
def test_a_warning_on_standard_error(category, expected, monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back at the end
    monkeypatch.setattr(command, "run", lambda argv: remark(category))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit, match="0"):
            command.main([])
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err
    assert err.startswith("nearsym: ") == (category is CheckpointWarning)

"""What a command prints of files that strangers made: a terminal shows it and does not obey it."""

import json

import pytest

from nearsym.cli.flags import as_flags
from nearsym.cli.main import LONGEST, _for_terminals
from nearsym.errors import printable, shown
from nearsym.runs.folder import read_parameters
from nearsym.training.untrusted import as_label, parse_json
from study_results import made


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\u202e", "\u2028", "\x07", "\x00", "\ud800", "\x9b1m"]
)
def test_what_steers_a_terminal_is_spelled_out(text):
    assert printable(f"a{text}b\n\tc").replace("\n\t", "").isprintable()


def test_what_people_write_stays():
    text = "5 ± ½ · τ−ε\u00a0kg …\n中文 😀"
    assert printable(text) == text


def test_results_are_spelled_out_wherever_texts_are():
    found = _for_terminals({"a\x1b": ["\x07", ("\x1b", 3)], "b": {"c": "\u202e"}, "d": None})
    assert found == {"a\\x1b": ["\\x07", ["\\x1b", 3]], "b": {"c": "\\u202e"}, "d": None}


def test_an_error_that_quotes_a_file_is_printable_and_not_endless(command, tmp_path):
    study = tmp_path / "a.toml"
    study.write_text('[[grid]]\ntask = "\\u001b[2J\\u202e' + "x" * 10**5 + '"\n')
    result = command("study", study, "--dry-run")
    assert result.code == 2
    assert result.err.rstrip("\n").isprintable()
    assert len(result.err) < LONGEST + 100


def test_results_of_a_study_folder_are_printable(command, tmp_path):
    content = vars(made()) | {"model": "\x1b[2J"}
    (tmp_path / "a.jsonl").write_text(json.dumps(content) + "\n")
    result = command("study", "claims", "--from", tmp_path / "a.jsonl")
    assert result.code == 2
    assert result.err.rstrip("\n").isprintable()


def test_code_in_an_error_that_python_cannot_read_stays():
    deep = f"`seed={'-' * 5000}1`"
    assert as_flags(deep, {"seed": None}) in (deep, deep[1:-1])


def test_parameters_of_a_run_that_are_no_numbers_are_left_out(tmp_path):
    content = {"parameters": {"actor": 5, "critic": "x", "encoder": None, "more": [1]}}
    (tmp_path / "config.json").write_text(json.dumps(content))
    assert read_parameters(tmp_path) == {"actor": 5}


def test_something_deep_is_shown_in_words():
    assert shown(json.loads("[" * 900 + "]" * 900)) in (
        "something nested too deeply",
        "[" * 59 + "…",
    )


def test_escapes_of_whole_characters_are_read():
    assert parse_json(r'"\ud83d\ude00 \u00e9"', "x") == "😀 é"


def test_labels_of_figures_hold_no_formula():
    assert as_label("$x$") == r"\$x\$"
    assert as_label("_x") == " _x"
    assert len(as_label("x" * 999)) < 130

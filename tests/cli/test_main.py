"""The command as a whole: help, exit codes, start-up."""

import subprocess
import sys

import pytest

import nearsym
from nearsym.cli import main
from nearsym.errors import MissingExtraError, RunError, UsageError

COMMANDS = ["tasks", "train", "eval", "plot", "study", "audit", "bench", "data"]


@pytest.mark.parametrize("argv", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_pages(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main.run(argv)
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "usage: nearsym" in text
    assert "None" not in text
    if len(argv) == 1:
        assert all(name in text for name in COMMANDS)
    else:
        assert "--json" in text


def test_the_version(capsys):
    with pytest.raises(SystemExit) as left:
        main.run(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"nearsym {nearsym.__version__}\n"


@pytest.mark.parametrize(
    ("words", "same"), [(["help"], ["--help"]), (["help", "eval"], ["eval", "-h"])]
)
def test_help_is_a_word_too(words, same, capsys):
    pages = []
    for argv in (words, same):
        with pytest.raises(SystemExit) as left:
            main.run(argv)
        assert left.value.code == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]


def test_no_command_shows_the_help_and_fails(capsys):
    with pytest.raises(SystemExit) as caught:
        main.run([])
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("Wrong."), 2),
        (MissingExtraError("Filming", "plots"), 2),
        (RunError("The disk is full."), 1),
        (MemoryError("Unable to allocate 9 TiB"), 1),
        (PermissionError(13, "Permission denied", "there"), 1),
        (OSError("Something\nelse"), 1),
        (KeyboardInterrupt(), 1),
    ],
)
def test_exit_codes(error, code, command, monkeypatch):
    def fail(args):
        raise error

    monkeypatch.setattr("nearsym.cli.tasks.run", fail)
    result = command("tasks")
    assert result.code == code
    assert result.out == ""
    assert result.err.startswith("nearsym: ")
    assert result.err.count("\n") == 1


def test_a_programming_error_keeps_its_traceback(command, monkeypatch):
    monkeypatch.setattr("nearsym.cli.tasks.run", lambda args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        command("tasks")


def test_tasks(command):
    listed = command("tasks", "--json").json["tasks"]
    assert {"name", "group", "variants", "obs"} == set(listed[0])
    assert "cartpole-swingup" in command("tasks").out


def test_main_exits_with_the_code(monkeypatch, capsys):
    with pytest.raises(SystemExit) as caught:
        main.main(["trian"])
    assert caught.value.code == 2
    assert "Did you mean 'train'?" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["tasks"], ["--help"], ["train", "--help"], ["eval", "x", "-y"]])
def test_what_should_be_quick_loads_nothing_heavy(argv):
    script = f"""
import sys
from nearsym.cli.main import main
try:
    main({argv})
except SystemExit:
    heavy = {{"torch", "dm_control", "mujoco", "pandas", "matplotlib"}} & set(sys.modules)
    sys.exit(len(heavy))
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=120)


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells have it ignored
from nearsym.cli.main import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

sys.meta_path.insert(0, Interrupt())
main(["bench", "update", "--quick"])
"""


@pytest.mark.parametrize(
    "module", ["nearsym.cli.process", "tyro", "nearsym.cli.train", "torch", "nearsym.benchmarks"]
)
def test_ctrl_c_during_an_import_is_one_line(module):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nearsym: stopped.\n")


IMPORTING = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

sys.meta_path.insert(0, Interrupt())
sys.argv[0] = sys.argv[2]
import nearsym
"""


@pytest.mark.parametrize("module", ["gymnasium", "numpy", "nearsym.tasks.craft.task"])
@pytest.mark.parametrize("started_as", ["-m", "/usr/bin/nearsym"])
def test_ctrl_c_while_the_package_itself_is_imported(module, started_as):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, module, started_as],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "nearsym: stopped.\n")


def test_ctrl_c_while_a_script_imports_the_package_is_the_scripts_own():
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, "gymnasium", "elsewhere/script.py"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "KeyboardInterrupt" in done.stderr
    assert "nearsym: stopped" not in done.stderr


@pytest.mark.parametrize("kind", [UsageError, RunError])
def test_parameters_of_the_library_are_shown_as_flags(kind, command, monkeypatch):
    def fail(args):
        raise kind("`run` needs `checkpoint='last'` or `sample=True`; see `Run.evaluate`.")

    monkeypatch.setattr("nearsym.cli.evaluate.run", fail)
    expected = "nearsym: RUN needs --checkpoint last or --sample; see Run.evaluate.\n"
    assert command("eval", "x").err == expected

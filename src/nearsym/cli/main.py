"""The command `nearsym`: parse, call, print."""

import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from nearsym.cli import audit, bench, data, evaluate, tasks, train
from nearsym.cli.options import parse
from nearsym.errors import MissingExtraError, RunError, UsageError

COMMANDS = {
    "tasks": (tasks, tasks.Tasks),
    "train": (train, train.Train),
    "eval": (evaluate, evaluate.Evaluate),
    "audit": (audit, audit.Audit),
    "bench": (bench, bench.Bench),
    "data": (data, data.Data),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command. Exit 0: done; 1: failed; 2: bad usage or bad input."""
    warnings.showwarning = _show_warning
    sys.path.append(os.getcwd())  # so that `module:factory` finds a module that lies here
    raise SystemExit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """One command; its exit code."""
    try:
        classes = {name: options for name, (_, options) in COMMANDS.items()}
        description = "Reinforcement learning for worlds that are almost symmetric."
        name, options, wants_json = parse("nearsym", description, classes, argv)
        module = COMMANDS[name][0]
        result = module.run(options)
        if wants_json:
            print(json.dumps(result))
        else:
            module.show(result)
        return module.exit_code(result) if hasattr(module, "exit_code") else 0
    except (UsageError, MissingExtraError) as error:
        print(f"nearsym: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"nearsym: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("nearsym: stopped.", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `nearsym … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Remarks to the user as one plain line; those of libraries to programmers as ever."""
    if issubclass(category, UserWarning) and category.__module__.startswith("nearsym."):
        text = f"nearsym: {message}\n"
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
    print(text, end="", file=sys.stderr if file is None else file)

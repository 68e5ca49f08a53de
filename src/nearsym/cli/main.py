"""The command `nearsym`: parse, call, print.

Everything is imported inside functions, so that Ctrl-C during the imports is answered like any
other.
"""

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

DESCRIPTION = "Reinforcement learning for worlds that are almost symmetric."
LONGEST = 4000
"""Characters of an error that are said: it may quote a file of somebody else."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command. Exit 0: done; 1: failed; 2: bad usage or bad input."""
    try:
        from nearsym.cli.process import set_up

        set_up()
        code = run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        print("nearsym: stopped.", file=sys.stderr)
        code = 1
    raise SystemExit(code)


def run(argv: Sequence[str]) -> int:
    """One command; its exit code."""
    from nearsym.cli.parse import parse
    from nearsym.cli.process import discard_output
    from nearsym.errors import MissingExtraError, RunError, UsageError

    command = None
    try:
        modules = commands()
        classes = {name: options for name, (_, options) in modules.items()}
        name, command, wants_json = parse("nearsym", DESCRIPTION, classes, argv)
        return _call(modules[name][0], command, wants_json)
    except (UsageError, MissingExtraError) as error:
        return _complain(error, command, 2)
    except RunError as error:
        return _complain(error, command, 1)
    except MemoryError as error:
        return _complain(f"There is not enough memory. {error}".rstrip(), command, 1)
    except KeyboardInterrupt:
        return _complain("stopped.", command, 1)
    except BrokenPipeError:
        discard_output()
        return 1
    except OSError as error:  # the system refused something that nobody foresaw
        return _complain(_refusal(error), command, 1)


def commands() -> Mapping[str, tuple[ModuleType, Any]]:
    """The module and the options of every command."""
    from nearsym.cli import (
        audit,
        bench,
        data,
        discover,
        evaluate,
        export,
        plot,
        report,
        study,
        tasks,
        train,
    )

    return {
        "tasks": (tasks, tasks.Tasks),
        "train": (train, train.command),
        "eval": (evaluate, evaluate.Evaluate),
        "plot": (plot, plot.Plot),
        "study": (study, study.command),
        "report": (report, report.Report),
        "audit": (audit, audit.Audit),
        "discover": (discover, discover.Discover),
        "bench": (bench, bench.Bench),
        "data": (data, data.Data),
        "export": (export, export.Export),
    }


def _call(module: Any, command: Any, wants_json: bool) -> int:
    result = module.run(command)
    if wants_json:
        import json

        print(json.dumps(result))
    else:
        module.show(_for_terminals(result))
    return module.exit_code(result) if hasattr(module, "exit_code") else 0


def _for_terminals(result: Any) -> Any:
    """A result in which no text steers a terminal: it may quote a file of somebody else."""
    from nearsym.errors import printable

    if isinstance(result, str):
        return printable(result)
    if isinstance(result, dict):
        return {printable(str(name)): _for_terminals(value) for name, value in result.items()}
    if isinstance(result, list | tuple):
        return [_for_terminals(value) for value in result]
    return result


def _refusal(error: OSError) -> str:
    reason = " ".join((error.strerror or str(error)).split())
    return f"{reason}." if error.filename is None else f"{error.filename}: {reason}."


def _complain(error: Exception | str, command: Any, code: int) -> int:
    """Say it on standard error, parameters as the flags of the command that ran."""
    from nearsym.cli.flags import as_flags
    from nearsym.cli.options import options_of
    from nearsym.errors import printable, shortened

    options = {} if command is None else options_of(type(command), command)
    text = as_flags(shortened(str(error), LONGEST), options)
    print(f"nearsym: {printable(text)}", file=sys.stderr)
    return code

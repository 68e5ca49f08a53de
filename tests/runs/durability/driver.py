"""Starts and resumes runs, each time in a process of its own, and lets something happen at a chosen
moment of each: a kill, a request to stop, a disk that fills.

The arguments are a JSON list of stages and, unless it needs a display, the task and what the agent
sees, so that libraries are imported once for all of them; the answer, on standard output, is a list
of what the stages left. A stage is a call of the library, or one of the
command `nearsym` where it has a `command`. A moment is counted in calls of functions after a given
one was entered, so that it does not depend on how fast the machine is.
"""

import ctypes
import errno
import json
import os
import random
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

NOBODY = 65534
NEVER = 10**18
CALLS = "calls made: "
STOP: list[bool] = []
"""Filled where somebody asks the run to stop."""


class Moment:
    """Acts at the call number `after` that follows entry number `entry` of a function.

    Millions of calls pass through here: what they all have to do is kept small.
    """

    def __init__(self, function, act, *, entry=1, after=0):
        self.function, self.entry, self.after = function, entry, after
        self.act = act
        self.calls = 0

    def watch(self):
        """Wait for the function, then count."""
        last = self.function.rpartition(".")[2]

        def wait(frame, event, arg):
            code = frame.f_code
            if code.co_name != last or event != "call":
                return
            if self.function == f"{frame.f_globals.get('__name__')}.{code.co_qualname}":
                self.entry -= 1
                if self.entry == 0:
                    sys.setprofile(self.count)

        sys.setprofile(wait)

    def count(self, frame, event, arg):
        self.calls += 1
        if self.calls > self.after:
            sys.setprofile(None)
            self.act()


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def actions(folder):
    """What can happen to a run in `folder`, by name."""
    return {
        "kill": kill,
        "stop": lambda: STOP.append(True),
        "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
        "interrupt": lambda: os.kill(os.getpid(), signal.SIGINT),
        "vanish": lambda: os.rename(folder, f"{folder}-gone"),
        "forbid": lambda: forbid(folder),
        "fill": lambda: fill(Path(folder).parent / "ballast"),
        "no space": no_space,
        "limit": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    }


def repairs(folder):
    """How what happened is put right afterwards."""
    return {
        "vanish": lambda: os.rename(f"{folder}-gone", folder),  # fails if it was made anew
        "forbid": lambda: allow(folder),
        "fill": (Path(folder).parent / "ballast").unlink,
    }


def forbid(folder):
    """Nobody may write there any more, not even the administrator."""
    for path in (folder, *Path(folder).rglob("*")):
        os.chmod(path, 0o555 if Path(path).is_dir() else 0o444)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)


def allow(folder):
    for path in (folder, *Path(folder).rglob("*")):
        os.chmod(path, 0o755)


def fill(ballast):
    """Take every byte that the disk has left."""
    with open(ballast, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def no_space(*_):
    """Stand in for a full disk where none can be mounted."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    os.pwrite = os.posix_fallocate = refuse


def jumping_clock(seed):
    """Every look at a clock may come from another year."""
    rng, honest = random.Random(seed), time.time

    def look():
        return honest() + rng.uniform(-1e8, 1e8)

    time.time = time.monotonic = time.perf_counter = look


def without_opengl():
    """As on a machine where its libraries are not installed."""
    honest = ctypes.CDLL

    def load(name, *args, **options):
        if str(name).startswith(("libEGL", "libOSMesa", "libGL")):
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")
        return honest(name, *args, **options)

    ctypes.CDLL = load


def prepared(stage):
    """Set the scene of a stage; returns the moment that counts its calls."""
    os.environ.update(stage.get("environment", {}))
    if not stage.get("opengl", True):
        without_opengl()
    if "clock" in stage:
        jumping_clock(stage["clock"])
    given = stage.get("moment", {"function": "nearsym.training.loop.Trainer.run", "after": NEVER})
    act = actions(stage["folder"])[given.get("act", "kill")]
    return Moment(given["function"], act, entry=given.get("entry", 1), after=given.get("after", 0))


def call(stage):
    """Start or resume a run by the library; the exit code that the command would have."""
    from nearsym.errors import RunError, UsageError
    from nearsym.runs.config import from_plain
    from nearsym.runs.run import Run
    from nearsym.runs.start import start_run

    warnings.showwarning = lambda message, *_: print(message, file=sys.stderr)
    folder = Path(stage["run"])
    try:
        if "config" in stage:
            start_run(from_plain(stage["config"]), folder, stop_requested=lambda: bool(STOP))
        else:
            Run(folder).resume(stop_requested=lambda: bool(STOP))
    except (UsageError, RunError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


def command(words):
    """Call the command; its exit code."""
    from nearsym.cli.main import main

    try:
        main(words)
    except SystemExit as end:
        return end.code


def child(stage, streams):
    """A process that works through one stage; returns its exit code."""
    for number, stream in zip((1, 2), streams, strict=True):
        os.dup2(stream, number)
    moment = prepared(stage)
    moment.watch()
    try:
        return command(stage["command"]) if "command" in stage else call(stage)
    finally:
        sys.setprofile(None)
        print(f"{CALLS}{moment.calls}", file=sys.stderr, flush=True)
        sys.stdout.flush()


def run(stage):
    """One stage; what it left."""
    pipes = [os.pipe(), os.pipe()]
    pid = os.fork()
    if pid == 0:
        code = 70  # an error that was let through; its traceback is on standard error
        try:
            code = child(stage, [write for _, write in pipes])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)
    for _, write in pipes:
        os.close(write)
    out, err = (os.fdopen(read).read() for read, _ in pipes)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    repairs(stage["folder"]).get(stage.get("moment", {}).get("act"), lambda: None)()
    calls = [int(line.removeprefix(CALLS)) for line in err.splitlines() if line.startswith(CALLS)]
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith(CALLS))
    return {"code": code, "out": out, "err": err, "calls": calls[0] if calls else None}


def import_all(task=None, obs=None):
    """Once, for all stages. What opens a display is left to the processes that draw pictures."""
    from tensorboard.compat.proto import event_pb2  # noqa: F401
    from tensorboard.summary.writer import record_writer  # noqa: F401

    import nearsym.cli.main
    import nearsym.runs.run

    if task is not None:
        nearsym.make(task, **({} if obs is None else {"obs": obs})).close()


if __name__ == "__main__":
    import_all(*sys.argv[2:])
    print(json.dumps([run(stage) for stage in json.loads(sys.argv[1])]))

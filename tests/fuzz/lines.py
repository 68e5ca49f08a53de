"""Random command lines: every command, its own options, values that fit and values that do not."""

from dataclasses import MISSING

from fuzz.values import word
from nearsym.cli.main import commands
from nearsym.cli.options import options_of

TASKS = 3 * ["craft"] + ["cartpole-swingup", "Pendulum-v1", "nearsym/craft-v0", "sys:exit"]
TASKS += ["no_module:make", ".mod:make", "trading", "runs/a/b", "/abs", "craf", ""]
BENCHMARKS = ["layers", "update", "env", "trading", "all", ""]
STUDIES = ["parameters", "regret", "weights", "claims", "claims", "none", "none.toml", "x.py", ""]
BOUNDS = {
    "frames": [900, 0, 3],
    "samples": [100, 3],
    "episodes": [1, 0],
    "shuffled": [2, 1],
    "seeds": [1, 0],
    "workers": [1, 0],
    "eval_episodes": [1, 0],
}
"""Options on which the time of a command depends: what may be drawn for them beside nonsense."""
NONSENSE = ["-1", "x", "", "nan", "1e9", "99999999999999999999", "9" * 5000]
WRITTEN = ("out", "plot", "video", "files")
READ = ("resume", "policy", "config", "from_")


def line(run, files, out, rng):
    """A command line; `run` is a run folder, `files` are those of a study, and `out` is where files
    may be written."""
    name = rng.choice([*commands(), *commands(), "", "trian", "--help", "--print-completion"])
    if name not in commands():
        return [name, *(word(rng) for _ in range(rng.randrange(3)))]
    words = [name, *map(str, _subject(name, run, files, out, rng))]
    options = _options(name, words[1:])
    for option in rng.sample(options, min(len(options), rng.choice([0, 1, 1, 2, 4]))):
        words += _given(option, run, files, out, rng)
    words += _needed(name, {option.name for option in options}, words, out)
    if rng.random() < 0.3:
        words.append("--json")
    if rng.random() < 0.1:
        words.insert(rng.randrange(1, len(words) + 1), word(rng))
    return words


def _options(name, words):
    command, default = commands()[name][1], None
    if not isinstance(command, type):
        command, default = command(words if name == "study" else ["craft"])
    return [o for o in options_of(command, default).values() if not o.positional]


def _subject(name, run, files, out, rng):
    """What stands without dashes after a command."""
    if name == "train":
        return [rng.choice(TASKS)] if rng.random() < 0.8 else []
    if name == "audit":
        return [rng.choice([*TASKS, run])]
    if name == "bench":
        return [rng.choice(BENCHMARKS)]
    if name == "data":
        return [rng.choice(["show", "check", "sow"]), *rng.choice([[], ["nothing.csv"], [run]])]
    if name == "tasks":
        return []
    if name == "study":
        return [rng.choice([*STUDIES, *files])]
    if name == "export":
        return [rng.choice([run, "none"]), out / rng.choice(["a.onnx", "a.txt", "no/such/a.onnx"])]
    some = [*files, files[0].parent] if name == "report" else [run, run, run]
    return [rng.choice([*some, "runs/none", "/", ""]) for _ in range(rng.choice([1, 1, 1, 0, 2]))]


def _given(option, run, files, out, rng):
    """An option with a value, or with several."""
    field = option.name.rpartition(".")[2]
    if not option.kinds:
        return [option.flag]
    if field in WRITTEN:
        names = ["a.png", "a.gif", "a.txt", "a.html", "no/such/a.png"]
        return [option.flag, str(out / rng.choice(names))]
    if field in READ:
        return [option.flag, str(rng.choice([run, run / "config.json", *files, "none"]))]
    if field in BOUNDS:
        return [option.flag, str(rng.choice([*BOUNDS[field], *NONSENSE]))]
    if option.choices and rng.random() < 0.7:
        return [option.flag, rng.choice(option.choices)]
    if option.default not in (MISSING, None) and rng.random() < 0.4:
        values = option.default if isinstance(option.default, tuple) else (option.default,)
        return [option.flag, *map(str, values)]
    return [option.flag, *(word(rng) for _ in option.kinds)]


def _needed(name, known, words, out):
    """What keeps a command short, and its files where they belong."""
    wanted = {}
    if name == "train" and "--resume" not in words:
        wanted = {"--preset": "smoke", "--out": str(out / "run")}
    elif name == "study" and "claims" not in words:
        wanted = {"--scale": "smoke", "--seeds": "1", "--workers": "1", "--out": str(out / "s")}
    elif name in ("plot", "report"):
        wanted = {"--out": str(out / ("a.png" if name == "plot" else "a.html"))}
    wanted |= {
        f"--{name}": str(BOUNDS[name][0]) for name in ("samples", "episodes") if name in known
    }
    return [word for flag, value in wanted.items() if flag not in words for word in (flag, value)]

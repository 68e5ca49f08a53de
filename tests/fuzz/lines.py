"""Random command lines: every command, its own options, values that fit and values that do not."""

from dataclasses import MISSING

from fuzz.values import word
from nearsym.cli.main import commands
from nearsym.cli.options import options_of

TASKS = [
    "craft",
    "craft",
    "craft",
    "cartpole-swingup",
    "Pendulum-v1",
    "nearsym/craft-v0",
    "sys:exit",
]
TASKS += ["no_module:make", ".mod:make", "trading", "runs/a/b", "/abs", "craf", ""]
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


def line(folders, out, rng):
    """A command line; `folders` are runs, `out` is where files may be written."""
    name = rng.choice([*commands(), *commands(), "", "trian", "--help", "--print-completion"])
    if name not in commands():
        return [name, *(word(rng) for _ in range(rng.randrange(3)))]
    options = list(_options(name).values())
    words = [name, *_subject(name, folders, out, rng)]
    for option in rng.sample(options, min(len(options), rng.randrange(5))):
        words += _given(option, folders, out, rng)
    words += _needed(name, options, words, out, rng)
    if rng.random() < 0.3:
        words.append("--json")
    if rng.random() < 0.1:
        words.insert(rng.randrange(1, len(words) + 1), word(rng))
    return words


def _options(name):
    command = commands()[name][1]
    command, default = (command, None) if isinstance(command, type) else command(["craft"])
    return {
        key: option for key, option in options_of(command, default).items() if not option.positional
    }


def _subject(name, folders, out, rng):
    """What stands without dashes after a command."""
    if name == "train":
        return [rng.choice(TASKS)] if rng.random() < 0.8 else []
    if name == "audit":
        return [rng.choice([*TASKS, *folders])]
    if name == "bench":
        return [rng.choice(["layers", "update", "env", "trading", "all", ""])]
    if name == "data":
        return [rng.choice(["show", "check", "sow"]), *rng.choice([[], ["nothing.csv"], folders])]
    if name == "tasks":
        return []
    if name == "export":
        file = rng.choice(["a.onnx", "a.txt", "no/such/a.onnx"])
        return [str(rng.choice([*folders, "none"])), str(out / file)]
    return [str(rng.choice([*folders, *folders, "runs/none", "/", ""])) for _ in range(_few(rng))]


def _few(rng):
    return rng.choice([1, 1, 1, 0, 2])


def _given(option, folders, out, rng):
    """An option with a value, or with several."""
    field = option.name.rpartition(".")[2]
    if not option.kinds:
        return [option.flag]
    if field in ("out", "plot", "video"):
        return [option.flag, str(out / rng.choice(["a.png", "a.gif", "a.txt", "no/such/a.png"]))]
    if field in ("resume", "policy", "config"):
        return [option.flag, str(rng.choice([*folders, folders[0] / "config.json", "none"]))]
    if field in BOUNDS:
        return [option.flag, str(rng.choice([*BOUNDS[field], *NONSENSE]))]
    if option.choices and rng.random() < 0.7:
        return [option.flag, rng.choice(option.choices)]
    if option.default not in (MISSING, None) and rng.random() < 0.2:
        values = option.default if isinstance(option.default, tuple) else (option.default,)
        return [option.flag, *map(str, values)]
    return [option.flag, *(word(rng) for _ in option.kinds)]


def _needed(name, options, words, out, rng):
    """What keeps a command short, and its files where they belong."""
    known = {option.name for option in options}
    wanted = []
    if name == "train":
        wanted += ["--preset", "smoke"] if "--preset" not in words else []
        wanted += ["--out", str(out / "run")] if "--out" not in words else []
        if "--resume" in words:
            wanted = []
    for field, values in BOUNDS.items():
        flag = f"--{field.replace('_', '-')}"
        if field in known and flag not in words and field in ("samples", "episodes"):
            wanted += [flag, str(values[0])]
    if name == "plot" and "--out" not in words:
        wanted += ["--out", str(out / "a.png")]
    return wanted

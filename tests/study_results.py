"""Results of runs that never were, with numbers that a test chooses."""

import itertools

from nearsym.studies.results import RunResult

_KEYS = itertools.count()


def made(model="approx", seed=0, level=100.0, *, curve=None, frames=None, **more):
    """A run whose curve rises to a level, or is what is given."""
    curve = [0.5 * level, *[level] * 5] if curve is None else curve
    frames = [100 * (i + 1) for i in range(len(curve))] if frames is None else frames
    about = {"task": "cartpole-swingup", "variant": None, "obs": "state", "agent": "sac"}
    about |= {"preset": "laptop", "key": f"{next(_KEYS):016x}", "model": model, "seed": seed}
    numbers = {"frames": frames, "returns": [[value, value] for value in curve]}
    return RunResult(**about | numbers | more)


def runs(levels, seeds=5, **more):
    """Runs of several models: `levels` has a level each, or a level for each seed."""
    return [
        made(model, seed, level if isinstance(level, int | float) else level[seed], **more)
        for model, level in levels.items()
        for seed in range(seeds)
    ]


def tilted(tilts=(0, 30, 75), **more):
    """Runs of the craft at several angles; exact loses more at larger ones."""
    names = [None if tilt == 0 else f"tilt={tilt}" for tilt in tilts]
    worlds = zip(tilts, names, strict=True)
    return [
        run
        for tilt, name in worlds
        for run in runs({"none": 100, "exact": 100 - tilt}, task="craft", variant=name, **more)
    ]


def near(level, seeds=5, by=1.0):
    """A level for each seed, a little around it."""
    return [level + by * ((7 * seed) % 5 - 2) / 2 for seed in range(seeds)]

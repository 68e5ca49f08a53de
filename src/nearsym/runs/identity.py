"""What decides the numbers of a run, as a short name."""

import hashlib
import json
from typing import Any

from nearsym.runs.config import RunConfig, to_plain

UNDECISIVE = (("training", "frames"), ("training", "checkpoint_every"), ("training", "replay"))
"""A run may grow, and where and how often it is kept changes no number."""

LATER = {
    ("algorithm", "scale_rewards"): False,
    ("network", "normalise"): False,
    ("", "compile"): False,
    ("algorithm", "policy_average"): 0.0,
    ("algorithm", "rate_end"): 1.0,
    ("algorithm", "rate_steps"): 100_000,
    ("network", "relaxed_rate"): 1.0,
    ("network", "relaxed_decay"): 0.0,
    ("network", "relaxed_from"): 0,
    ("network", "window_heads"): "plain",
    ("network", "critic_norm"): False,
}
"""Settings that came later: where they have no effect a digest leaves them out, so that runs which
were made without them keep their names."""

MACHINE = ("threads", "precision", "device", "compile")


def decisive(config: RunConfig) -> dict[str, Any]:
    """The configuration as JSON objects, without what changes no number up to a given frame."""
    plain = to_plain(config)
    for section, name in UNDECISIVE:
        del plain[section][name]
    return plain


def digest(config: RunConfig) -> str:
    """Equal for configurations that give equal numbers: sixteen hexadecimal digits.

    >>> from nearsym.runs.configure import configure
    >>> short, long = (configure("craft", preset="smoke", frames=n) for n in (600, 900))
    >>> digest(short) == digest(long) != digest(configure("craft", preset="smoke", seed=1))
    True
    """
    plain = decisive(config)
    for (section, name), without_effect in LATER.items():
        place = plain[section] if section else plain
        if name in place and place[name] == without_effect:
            del place[name]
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def bound(config: RunConfig, *, to_play: bool = False) -> dict[str, Any]:
    """What a checkpoint is bound to, by the names of single settings: the decisive ones, but for
    the place of the data, which is known by its hash. To play, any machine will do."""
    found: dict[str, Any] = {}
    for name, value in decisive(config).items():
        nested = {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else None
        found |= {name: value} if nested is None else nested
    free = ("task.data", *(MACHINE if to_play else ()))
    return {name: value for name, value in found.items() if name not in free}

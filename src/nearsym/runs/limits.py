"""What the numbers of a configuration may be, wherever they come from: flags, Python or a file.

The limits are far from what anybody uses. They keep out what is a mistake or malice: numbers below
zero, infinite ones, and sizes that no machine has.
"""

import re
from typing import Any

from nearsym.errors import UsageError, check_range
from nearsym.training.allocator import machine_memory

MANY = 10**12
LIMITS: dict[str, dict[str, tuple[float, float]]] = {
    "algorithm": {
        "learning_rate": (0.0, 10.0),
        "rate_end": (0.0, 1.0),
        "rate_steps": (1, MANY),
        "target_tau": (0.0, 1.0),
        "policy_average": (0.0, 1.0),
        "random_steps": (0, MANY),
        "temperature": (0.0, 1e6),
        "std_start": (0.0, 100.0),
        "std_end": (0.0, 100.0),
        "std_steps": (1, MANY),
        "noise_clip": (0.0, 100.0),
        "shift_pad": (0, 512),
        "saturation_penalty": (0.0, 1e6),
    },
    "network": {
        "filters": (1, 1024),
        "channels": (1, 8192),
        "channel_multiple": (1, 8192),
        "hidden": (1, 65_536),
        "actor_depth": (0, 64),
        "critic_depth": (0, 64),
        "waist": (1, 65_536),
        "window_features": (1, 65_536),
        "spread_strength": (0.0, 1e6),
        "relaxed_rate": (0.0, 100.0),
        "relaxed_decay": (0.0, 1.0),
        "relaxed_from": (0, 10**9),
        "mirror_strength": (0.0, 1e6),
        "rpp_actor": (0.0, 1e6),
        "rpp_critic": (0.0, 1e6),
    },
}
"""The smallest and largest value by section and name; those of `training` stand with it."""
LARGEST_SEED = 2**63 - 1
THREADS = (1, 1024)
_COPIES = 6  # of a weight: itself, its gradient, two moments, its target, its average


def check_sections(**sections: Any) -> None:
    """Refuse a number that is out of its range in one of the sections of a configuration."""
    for section, config in sections.items():
        for name, (low, high) in LIMITS[section].items():
            value = getattr(config, name, None)  # agents have different ones; None is no waist
            for number in value if isinstance(value, tuple) else (value,):
                if number is not None:
                    check_range(f"{section}.{name}", number, low, high)


def check_threads(threads: int) -> None:
    """Refuse more threads than a system can make."""
    check_range("threads", threads, *THREADS)


def check_device(name: str) -> None:
    """Refuse what is the name of no device."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:\d{1,3})?", name):
        raise UsageError(f"A device is cpu or cuda (or cuda:1, …), got {name!r}.")


def check_memory(network: Any) -> None:
    """Refuse networks of which the widest layers alone would not fit into this machine."""
    layers = max(network.actor_depth - 1, 0) + 2 * max(network.critic_depth - 1, 0)
    weights = network.filters * (layers * network.hidden**2 + 27 * network.channels**2)
    needed = 4 * _COPIES * weights
    if needed > machine_memory():
        raise UsageError(
            f"Networks of this size would take about {needed / 1e9:,.0f} GB, more than this "
            "machine has. Lower `network.hidden`, `network.channels` or `network.filters`."
        )

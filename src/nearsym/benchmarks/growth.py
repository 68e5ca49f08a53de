"""How the time of an update grows: with the group, L, batches, images, stocks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from nearsym.agents.base import Compute
from nearsym.agents.sac import SAC, SACConfig
from nearsym.benchmarks.published import random_batch
from nearsym.benchmarks.timing import interleaved, ratio_row
from nearsym.errors import MissingExtraError
from nearsym.groups.catalog import dihedral, trivial
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import regular, trivial_of
from nearsym.groups.symmetry import Symmetry, TimeSymmetry
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.runs.build import build_agent
from nearsym.runs.configure import configure
from nearsym.runs.plot import write_figure
from nearsym.runs.train import torch_threads
from nearsym.training.allocator import keep_freed_memory

ORDERS = (1, 2, 4, 8, 16)
FILTERS = (1, 2, 4, 8)
BATCHES = (32, 64, 128, 256, 512)
SIZES = (43, 51, 59, 67, 85)
STOCKS = (5, 10, 20, 40, 80)
VECTOR_SIZE = 16
DAYS, FEATURES = 9, 10
PIXELS: dict[str, Any] = {"obs": "pixels", "agent": "drqv2"}
VECTORS: dict[str, Any] = {"obs": "state", "agent": "sac"}
TASK = "cartpole-swingup"
TICKS = (3, 10, 30, 100, 300)

Update = Callable[[], Any]


@dataclass(frozen=True)
class Growth:
    """One line of the figure: updates for growing values of one thing."""

    what: str
    """What grows."""
    line: str
    """Whose update it is."""
    make: Callable[[int], Update]
    values: Sequence[int]


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Milliseconds of an update for each value, beside the first of its line; on one thread."""
    keep_freed_memory()
    with torch_threads(1):
        return [row for growth in growths() for row in _rows(growth, quick)]


def growths() -> list[Growth]:
    """What is measured. Sizes are those of the preset laptop."""
    return [
        Growth("group elements", "SAC, approx", _with_group, ORDERS),
        Growth("filters L", "SAC, approx", lambda n: _control(VECTORS, filters=n), FILTERS),
        Growth("filters L", "DrQ-v2, approx", lambda n: _control(PIXELS, filters=n), FILTERS),
        Growth("batch", "SAC, approx", lambda n: _control(VECTORS, batch=n), BATCHES),
        Growth("batch", "DrQ-v2, approx", lambda n: _control(PIXELS, batch=n), BATCHES),
        Growth("image size, px", "DrQ-v2, none", lambda n: _image(n, "none"), SIZES),
        Growth("image size, px", "DrQ-v2, approx", lambda n: _image(n, "approx"), SIZES),
        Growth("stocks", "SAC, none", lambda n: _market(n, "none"), STOCKS),
        Growth("stocks", "SAC, approx T", lambda n: _market(n, "approx"), STOCKS),
    ]


def _rows(growth: Growth, quick: bool) -> list[dict[str, Any]]:
    values = growth.values[:2] if quick else growth.values
    candidates = {str(value): growth.make(value) for value in values}
    times = interleaved(candidates, rounds=2 if quick else 15, warmup=1 if quick else 2)
    first = times[str(values[0])]
    found = []
    for value in values:
        name = f"{growth.line}, {growth.what} {value} / {values[0]}"
        row = ratio_row(name, times[str(value)], first, None)
        found.append(row | {"what": growth.what, "line": growth.line, "at": value})
    return found


def _control(kind: Mapping[str, Any], *, filters: int = 1, batch: int | None = None) -> Update:
    config = configure(TASK, **kind, model="approx", network={"filters": filters}, threads=1)
    return _update(config, config.training.batch_size if batch is None else batch)


def _image(size: int, model: str) -> Update:
    config = configure(TASK, **PIXELS, model=model, size=size, threads=1)
    return _update(config, config.training.batch_size)


def _update(config: Any, batch_size: int) -> Update:
    env = config.task.make()
    agent = build_agent(config, env)
    shape, actions = env.observation_space.shape, env.action_space.shape
    env.close()
    batch = random_batch(batch_size, shape, actions[0])
    return lambda: agent.update(batch, step=10_000)


def _with_group(order: int) -> Update:
    """Observations of 16 numbers that the group permutes, one action that it leaves alone."""
    group: FiniteGroup = trivial() if order == 1 else dihedral(order // 2)
    symmetry = Symmetry(VECTOR_SIZE // order * regular(group), trivial_of(group))
    network = NetworkConfig(model="approx", hidden=256, waist=None)
    return _sac(build_actor_critic(symmetry, (VECTOR_SIZE,), "sac", network), (VECTOR_SIZE,), 1)


def _market(stocks: int, model: str) -> Update:
    """A window with as many numbers for each stock as the trading task shows."""
    features = 1 + FEATURES * stocks
    symmetry = TimeSymmetry("T", DAYS, features, stocks)
    network = configure("trading", model=model).network
    shape = (DAYS * features,)
    return _sac(build_actor_critic(symmetry, shape, "sac", network), shape, stocks)


def _sac(networks: ActorCritic, shape: tuple[int, ...], actions: int) -> Update:
    compute = Compute(torch.device("cpu"), bfloat16=False)
    agent = SAC(networks, SACConfig(), compute=compute, generator=torch.Generator())
    batch = random_batch(128, shape, actions)
    return lambda: agent.update(batch, step=10_000)


def draw(found: Sequence[Mapping[str, Any]], path: str) -> None:
    """The figure: a panel for each thing that grows, milliseconds on logarithmic axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A plot", "plots") from error
    panels = list(dict.fromkeys(row["what"] for row in found))
    figure = Figure(figsize=(2.5 * len(panels), 2.9), layout="constrained")
    drawn = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, what in zip(drawn, panels, strict=True):
        _panel(axes, what, [row for row in found if row["what"] == what])
    drawn[0].set(ylabel="ms an update", yscale="log", yticks=TICKS, yticklabels=map(str, TICKS))
    drawn[0].yaxis.minorticks_off()
    write_figure(figure, path)


def _panel(axes: Any, what: str, found: Sequence[Mapping[str, Any]]) -> None:
    for line in dict.fromkeys(row["line"] for row in found):
        points = [(row["at"], 1e3 * row["seconds"]) for row in found if row["line"] == line]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=line)
    values = sorted({row["at"] for row in found})
    axes.set(xscale="log", xlabel=what)
    axes.set_xticks(values, [str(value) for value in values])
    axes.xaxis.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, frameon=False)

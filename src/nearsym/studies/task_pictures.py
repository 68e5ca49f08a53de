"""Pictures of what is learned in: control tasks with their orbits and variants, market data."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from nearsym.errors import MissingExtraError
from nearsym.tasks.control.domain import Domain
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS, parse_variant
from nearsym.tasks.registry import make

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 256
INK, REGION, IMAGE = "#222222", "#d1495b", "#b8c4cf"
SHOWN = {
    "acrobot-swingup": [0.5, 0.9],
    "cartpole-swingup": [0.5, 0.6],
    "ball_in_cup-catch": [0.03, 0.0, 0.2, 0.15],
    "reacher-hard": [0.5, 0.8],
}
"""A configuration that shows the domain well."""


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A figure", "plots") from error
    return Figure(figsize=(width, height), layout="constrained")


def draw_orbits(tasks: Sequence[str] = tuple(DOMAINS)) -> Any:
    """One row a domain: dm_control's picture, then a state and its images under the group."""
    figure = _figure(11, 2.3 * len(tasks))
    rows: Any = figure.subplots(len(tasks), 5, squeeze=False)
    for row, task in zip(rows, tasks, strict=True):
        domain = DOMAINS[task]
        pictures = {"dm_control": _picture(task, 0, background=True)}
        for g, element in enumerate(domain.group.elements):
            pictures[f"{element} · s" if g else "s"] = _picture(task, g)
        for axes in row:
            axes.set_axis_off()
        for axes, (name, picture) in zip(row, pictures.items(), strict=False):
            axes.imshow(picture)
            axes.set_title(name, fontsize=10)
        label, place = f"{task} ({domain.group})", row[0].transAxes
        row[0].text(-0.08, 0.5, label, rotation=90, va="center", ha="right", transform=place)
    return figure


def _picture(task: str, g: int, *, background: bool = False) -> np.ndarray:
    """The picture of g·s."""
    with closing(make(task, size=SIZE, frame_stack=1, background=background)) as env:
        env.reset(seed=2)
        core: Any = env.unwrapped
        qpos = np.array(SHOWN[task])
        state = core.get_state() | {"qpos": qpos, "qvel": np.zeros(len(qpos))}
        if core.domain.has_target:
            state["target"] = np.array([-0.08, 0.14])
        core.set_state(core.transform(g, state))
        return core._picture(SIZE)


def draw_variants(tasks: Sequence[str] = tuple(DOMAINS)) -> Any:
    """One row a domain, one column a variant."""
    names = VARIANTS[1:]
    figure = _figure(11, 2.75 * len(tasks))
    rows: Any = figure.subplots(len(tasks), len(names), squeeze=False)
    draw: dict[str, Callable[[Any, Domain], None]] = {"gravity": _gravity, "wear": _wear}
    for row, domain in zip(rows, (DOMAINS[task] for task in tasks), strict=True):
        for axes, name in zip(row, names, strict=True):
            if name in draw:
                draw[name](axes, domain)
            else:
                _region(axes, domain, name)
            axes.tick_params(labelsize=7)
            axes.set_title(str(parse_variant(name, domain)), fontsize=10)
        row[0].set_ylabel(f"{domain.name}\n{row[0].get_ylabel()}", fontsize=9)
    return figure


def _region(axes: "Axes", domain: Domain, name: str) -> None:
    """The region in red (darker: at half strength) and its images under the group in grey."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Circle

    region = domain.regions[name]
    qpos, shown, extent = _grid(domain)
    colours = np.zeros((*shown.shape, 4))
    for g in range(1, domain.group.order):
        image = region.contains(domain.move_configuration(g, qpos)) & shown
        colours[image] = to_rgba(IMAGE)
    for strength, opacity in ((1.0, 0.55), (0.5, 1.0)):
        inside = region.contains(qpos, strength) & shown
        colours[inside] = to_rgba(REGION, opacity)
    axes.imshow(colours, extent=extent, origin="lower")
    if domain.domain == "ball_in_cup":
        axes.plot([-0.05, -0.05, 0.05, 0.05], [0.6, 0.5, 0.5, 0.6], color=INK)
        axes.set_xlabel("ball x (m)", fontsize=8)
        axes.set_ylabel("ball z (m)", fontsize=8)
        return
    axes.add_patch(Circle((0, 0), 1, fill=False, color=INK, linewidth=0.8))
    _cross(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    part = {"acrobot": "upper arm", "cartpole": "pole", "reacher": "shoulder"}[domain.domain]
    axes.set_xlabel(f"direction of the {part}, as seen", fontsize=8)


def _grid(domain: Domain) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float, float]]:
    """States on a grid of the plane in which the region lies, which of them to show, the axes."""
    if domain.domain == "ball_in_cup":
        extent = (-0.4, 0.4, 0.0, 0.8)
        x, z = np.meshgrid(np.linspace(*extent[:2], 400), np.linspace(*extent[2:], 400))
        qpos = np.stack([np.zeros_like(x), np.zeros_like(x), x, z - 0.2], axis=-1)
        return qpos, np.ones_like(x, bool), extent
    extent = (-1.1, 1.1, -1.1, 1.1)
    right, up = np.meshgrid(np.linspace(*extent[:2], 400), np.linspace(*extent[2:], 400))
    # The suite's vertical hinges turn clockwise from upright, reacher's counter-clockwise from +x.
    angle = np.arctan2(up, right) if domain.domain == "reacher" else np.arctan2(right, up)
    qpos = np.stack([angle, angle], axis=-1)  # the region looks at one of the two
    return qpos, np.hypot(right, up) < 1, extent


def _gravity(axes: "Axes", domain: Domain) -> None:
    """Gravity in the plane of the picture: the original's in grey, the variant's in red."""
    gravity = parse_variant("gravity", domain).gravity
    assert gravity is not None
    flat = domain.domain == "reacher"
    for vector, colour in (((0.0, 0.0, -9.81), IMAGE), (gravity, REGION)):
        right, up = vector[0], vector[1] if flat else vector[2]
        arrow = {"arrowstyle": "->", "color": colour, "lw": 2}
        axes.annotate("", (right, up), (0, 0), arrowprops=arrow)
    limit = 2 if flat else 11
    axes.set_aspect("equal")
    axes.set_xlim(*((-limit, limit) if flat else (-limit / 2, limit / 2)))
    axes.set_ylim(*((-limit, limit) if flat else (-limit, 1)))
    axes.set_xlabel("x (m/s²)", fontsize=8)
    axes.set_ylabel("y (m/s²)" if flat else "z (m/s²)", fontsize=8)


def _wear(axes: "Axes", domain: Domain) -> None:
    """What the first motor does with an action: the original's in grey, the variant's in red."""
    variant = parse_variant("wear", domain)
    actions = np.linspace(-1, 1, 201)
    axes.plot(actions, actions, color=IMAGE, linewidth=2)
    axes.plot(actions, [a * variant.gain(a) for a in actions], color=REGION, linewidth=2)
    _cross(axes)
    axes.set_box_aspect(1)
    axes.set_xlabel("first action", fontsize=8)
    axes.set_ylabel("first motor", fontsize=8)


def _cross(axes: "Axes") -> None:
    axes.axhline(0, color=INK, linewidth=0.4)
    axes.axvline(0, color=INK, linewidth=0.4)


def draw_prices(stocks: int = 4) -> Any:
    """Sample data of the trading task: closing prices of some stocks, and the three parts."""
    figure = _figure(7, 3.2)
    axes = figure.subplots()
    for part, shade in (("train", "0.95"), ("validation", "0.85"), ("test", "0.75")):
        with closing(make("trading", part=part)) as env:
            market: Any = env.unwrapped
            table, days = market.table, market.days
        dates = np.array(table.dates[days], dtype="datetime64[D]")
        axes.axvspan(dates[0], dates[-1], color=shade, linewidth=0, label=part)
    dates = np.array(table.dates, dtype="datetime64[D]")
    for ticker, prices in list(zip(table.tickers, table.close.T, strict=True))[:stocks]:
        axes.plot(dates, prices, linewidth=0.8, label=ticker)
    axes.set_yscale("log")
    axes.set_ylabel("closing price", fontsize=8)
    axes.legend(fontsize=7, ncols=4, frameon=False)
    return figure

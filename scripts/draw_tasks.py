"""Draw the pictures of docs/control_tasks.md: every domain's orbit, every variant's region.

python scripts/draw_tasks.py [FOLDER]
"""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from nearsym.tasks.control.domain import Domain
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS, parse_variant
from nearsym.tasks.registry import make

SIZE = 256
INK, REGION, IMAGE = "#222222", "#d1495b", "#b8c4cf"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {"control_orbits": orbits, "control_variants": variants}.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=90)
        print(folder / f"{name}.png")


def orbits() -> plt.Figure:
    """One row a domain: dm_control's picture, then a state and its images under the group."""
    figure, rows = plt.subplots(len(DOMAINS), 5, figsize=(11, 9.2), layout="constrained")
    for row, (task, domain) in zip(rows, DOMAINS.items(), strict=True):
        pictures = {"dm_control": _picture(task, 0, background=True)}
        for g, element in enumerate(domain.group.elements):
            pictures[element if g else "s"] = _picture(task, g)
        for axes, name in zip(row, [*pictures, *[""] * 5], strict=False):
            axes.set_axis_off()
            if name:
                axes.imshow(pictures[name])
                title = name if name in ("dm_control", "s") else f"{name} · s"
                axes.set_title(title, fontsize=10)
        row[0].text(-0.08, 0.5, f"{task} ({domain.group})", rotation=90, va="center", ha="right",
                    transform=row[0].transAxes)  # fmt: skip
    return figure


def _picture(task: str, g: int, *, background: bool = False) -> np.ndarray:
    """The picture of g·s for a state s that shows the domain well."""
    env = make(task, size=SIZE, frame_stack=1, background=background)
    env.reset(seed=2)
    qpos = {
        "acrobot-swingup": [0.5, 0.9],
        "cartpole-swingup": [0.5, 0.6],
        "ball_in_cup-catch": [0.03, 0.0, 0.2, 0.15],
        "reacher-hard": [0.5, 0.8],
    }[task]
    core = env.unwrapped
    state = core.get_state() | {"qpos": np.array(qpos), "qvel": np.zeros(len(qpos))}
    if core.domain.has_target:
        state["target"] = np.array([-0.08, 0.14])
    core.set_state(core.transform(g, state))
    return core._picture(SIZE)


def variants() -> plt.Figure:
    """One row a domain, one column a variant."""
    names = VARIANTS[1:]
    figure, rows = plt.subplots(len(DOMAINS), len(names), figsize=(11, 11), layout="constrained")
    draw: dict[str, Callable[[Axes, Domain], None]] = {"gravity": _gravity, "wear": _wear}
    for row, domain in zip(rows, DOMAINS.values(), strict=True):
        for axes, name in zip(row, names, strict=True):
            if name in draw:
                draw[name](axes, domain)
            else:
                _region(axes, domain, name)
            axes.tick_params(labelsize=7)
            axes.set_title(str(parse_variant(name, domain)), fontsize=10)
        row[0].set_ylabel(f"{domain.name}\n{row[0].get_ylabel()}", fontsize=9)
    return figure


def _region(axes: Axes, domain: Domain, name: str) -> None:
    """The region in red (darker: at half strength) and its images under the group in grey."""
    region = domain.regions[name]
    qpos, shown, extent = _grid(domain)
    colours = np.zeros((*shown.shape, 4))
    for g in range(1, domain.group.order):
        image = region.contains(domain.move_configuration(g, qpos)) & shown
        colours[image] = matplotlib.colors.to_rgba(IMAGE)
    for strength, opacity in ((1.0, 0.55), (0.5, 1.0)):
        inside = region.contains(qpos, strength) & shown
        colours[inside] = matplotlib.colors.to_rgba(REGION, opacity)
    axes.imshow(colours, extent=extent, origin="lower")
    if domain.domain == "ball_in_cup":
        axes.plot([-0.05, -0.05, 0.05, 0.05], [0.6, 0.5, 0.5, 0.6], color=INK)
        axes.set_xlabel("ball x (m)", fontsize=8)
        axes.set_ylabel("ball z (m)", fontsize=8)
        return
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color=INK, linewidth=0.8))
    axes.axhline(0, color=INK, linewidth=0.4)
    axes.axvline(0, color=INK, linewidth=0.4)
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


def _gravity(axes: Axes, domain: Domain) -> None:
    """Gravity in the plane of the picture: the original's in grey, the variant's in red."""
    gravity = parse_variant("gravity", domain).gravity
    assert gravity is not None
    flat = domain.domain == "reacher"
    for vector, colour in (((0.0, 0.0, -9.81), IMAGE), (gravity, REGION)):
        right, up = vector[0], vector[1] if flat else vector[2]
        axes.annotate(
            "", (right, up), (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2}
        )
    limit = 2 if flat else 11
    axes.set(xlim=(-limit / 2, limit / 2) if not flat else (-limit, limit), aspect="equal")
    axes.set_ylim(*((-limit, limit) if flat else (-limit, 1)))
    axes.set_xlabel("x (m/s²)", fontsize=8)
    axes.set_ylabel("y (m/s²)" if flat else "z (m/s²)", fontsize=8)


def _wear(axes: Axes, domain: Domain) -> None:
    """What the first motor does with an action: the original's in grey, the variant's in red."""
    variant = parse_variant("wear", domain)
    actions = np.linspace(-1, 1, 201)
    axes.plot(actions, actions, color=IMAGE, linewidth=2)
    axes.plot(actions, [a * variant.gain(a) for a in actions], color=REGION, linewidth=2)
    axes.axhline(0, color=INK, linewidth=0.4)
    axes.axvline(0, color=INK, linewidth=0.4)
    axes.set_box_aspect(1)
    axes.set_xlabel("first action", fontsize=8)
    axes.set_ylabel("first motor", fontsize=8)


if __name__ == "__main__":
    main()

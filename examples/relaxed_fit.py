"""Fit a function whose symmetry is broken in one place, and look at the relaxed weights.

The target has all eight symmetries of the square except for one bump at the top, which only the
left-right mirror leaves in place. An exact network can only average the bump over the four sides.
A relaxed network learns it, and its weights say which symmetry is left: they stay equal within
each coset of {e, mirror_x} and differ between them.

    python examples/relaxed_fit.py --out relaxed_fit.png
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nearsym.groups import Invariant, dihedral
from nearsym.layers import GroupLinear, LiftLinear, ProjectLinear, relaxed_weights
from nearsym.measures import equivariance_error, stabilizer

GROUP = dihedral(4)
POINTS = GROUP.vector()


def target(points: Tensor, bump: float) -> Tensor:
    """A function of the plane that D4 leaves unchanged, plus a bump of the given height on top."""
    x, y = points.unbind(-1)
    symmetric = torch.cos(3 * x) * torch.cos(3 * y) / 2
    return symmetric + bump * torch.exp(-8 * (x.square() + (y - 0.7).square()))


def network(relaxed: bool, channels: int = 24) -> nn.Module:
    """An invariant function of points, exactly or at the start."""
    return nn.Sequential(
        LiftLinear(POINTS, 1, channels, relaxed=relaxed),
        nn.SiLU(),
        GroupLinear(GROUP, channels, channels, relaxed=relaxed),
        nn.SiLU(),
        ProjectLinear(GROUP.trivial(), channels, relaxed=relaxed),
    )


def fit(net: nn.Module, bump: float, steps: int) -> float:
    """Train on batches that hold every point with its eight images; the last squared error."""
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    mean = torch.zeros(())
    for _ in range(steps):
        points = 2 * torch.rand(64, 2) - 1
        batch = torch.cat([POINTS.act(g, points) for g in range(GROUP.order)])
        loss = (net(batch).squeeze(-1) - target(batch, bump)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        mean = loss.detach()
    return float(mean)


def draw(networks: dict[str, nn.Module], out: Path) -> None:
    """The target and the fits above, the relaxed weights of each layer below."""
    import matplotlib.pyplot as plt

    axis = torch.linspace(-1, 1, 101)
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1)
    with torch.no_grad():
        pictures = {"target": target(grid, 1.0)}
        pictures |= {name: net(grid).squeeze(-1) for name, net in networks.items()}
    figure, axes = plt.subplots(2, 3, figsize=(11, 7.5), layout="constrained")
    for panel, (name, picture) in zip(axes[0], pictures.items(), strict=True):
        image = panel.imshow(picture, origin="lower", extent=(-1, 1, -1, 1), vmin=-0.6, vmax=1.2)
        panel.set_title(name)
    figure.colorbar(image, ax=axes[0])
    titles = ("lift", "group convolution", "projection")
    weights = relaxed_weights(networks["relaxed fit"]).values()
    for panel, title, weight in zip(axes[1], titles, weights, strict=True):
        draw_weights(panel, weight[0])
        panel.set_title(f"relaxed weights: {title}")
    figure.savefig(out, dpi=120)


def draw_weights(panel: Any, weight: Tensor) -> None:
    """One bar for each element, coloured by its coset of {e, mirror_x}."""
    cosets = GROUP.right_cosets(GROUP.subgroup([GROUP.index("mirror_x")]))
    order = [g for coset in cosets for g in coset]
    colours = [f"C{i}" for i, coset in enumerate(cosets) for _ in coset]
    panel.bar([GROUP.elements[g] for g in order], weight[order], color=colours)
    panel.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    panel.tick_params(axis="x", rotation=90)


def main(out: Path, steps: int, seed: int) -> None:
    """Fit an exact and a relaxed network and draw them."""
    torch.manual_seed(seed)
    networks = {"exact fit": network(relaxed=False), "relaxed fit": network(relaxed=True)}
    for name, net in networks.items():
        print(f"{name}: squared error {fit(net, 1.0, steps):.5f}")
    points = 2 * torch.rand(512, 2) - 1
    errors = equivariance_error(networks["relaxed fit"], points, POINTS, Invariant(GROUP))
    for element, error in errors.items():
        print(f"  broken by {element:10s} {error:.5f}")
    print(f"symmetry that is left: {stabilizer(errors, 1e-3, GROUP)}")
    draw(networks, out)
    print(f"picture: {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("relaxed_fit.png"), help="the picture")
    parser.add_argument("--steps", type=int, default=1000, help="training steps of each network")
    parser.add_argument("--seed", type=int, default=0, help="of the starts and the batches")
    main(**vars(parser.parse_args()))

"""Steerable convolution over C_4 against the plain convolution of the expanded size, and escnn's.

Forward and backward with 64 channels in all, channels last. On large inputs (41 pixels, batch 64)
the plain convolution inside dominates every one of them; a small input (7 pixels, batch 8) shows
what the layers add to it.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nearsym.benchmarks.timing import interleaved, ratio_row
from nearsym.groups.catalog import cyclic
from nearsym.groups.representation import regular
from nearsym.layers.steerable import SteerableConv2d
from nearsym.runs.train import torch_threads

CHANNELS, KERNEL = 16, 3
LARGE, SMALL = (64, 41), (8, 7)  # batch, pixels
PLAIN_TARGET = 1.25
ESCNN_TARGET = 1.0
"""Ours must be the faster."""

Model = Callable[[Tensor], Tensor]


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Exact and relaxed against `nn.Conv2d`, and against escnn where it is installed."""
    models = _models()
    with torch_threads(threads):
        large = _measure(models, *LARGE, rounds=15, quick=quick)
        measured = [
            ratio_row(f"steerable {name} C4×{CHANNELS}", large[name], large["plain"], PLAIN_TARGET)
            for name in ("exact", "approx")
        ]
        if "escnn" in models:
            small = _measure(models, *SMALL, rounds=150, quick=quick)
            for (batch, pixels), seconds in ((LARGE, large), (SMALL, small)):
                name = f"steerable exact C4×{CHANNELS} to escnn, {batch}×{pixels} px"
                row = ratio_row(name, seconds["exact"], seconds["escnn"], ESCNN_TARGET)
                measured.append(row)
    return measured


def escnn_layer() -> Model:
    """The same layer of escnn, from and to plain tensors."""
    from escnn import gspaces
    from escnn import nn as escnn

    space = gspaces.rot2dOnR2(4)
    kind = escnn.FieldType(space, CHANNELS * [space.regular_repr])
    layer = escnn.R2Conv(kind, kind, KERNEL, padding=KERNEL // 2)
    return lambda x: layer(escnn.GeometricTensor(x, kind)).tensor


def _models() -> dict[str, Model]:
    group = cyclic(4)
    rho, total, padding = regular(group), group.order * CHANNELS, KERNEL // 2
    layer = partial(SteerableConv2d, rho, rho, CHANNELS, CHANNELS, KERNEL, padding=padding)
    models: dict[str, Model] = {
        "plain": nn.Conv2d(total, total, KERNEL, padding=padding),
        "exact": layer(),
        "approx": layer(relaxed=True),
    }
    if importlib.util.find_spec("escnn") is not None:
        models["escnn"] = escnn_layer()
    return models


def _measure(
    models: dict[str, Model], batch: int, pixels: int, *, rounds: int, quick: bool
) -> dict[str, list[float]]:
    batch, rounds = (2, 2) if quick else (batch, rounds)
    x = torch.randn(batch, 4 * CHANNELS, pixels, pixels).to(memory_format=torch.channels_last)
    return interleaved({name: partial(_step, m, x) for name, m in models.items()}, rounds=rounds)


def _step(model: Model, x: Tensor) -> None:
    """Forward and backward, into the input as well: a layer inside a network."""
    x = x.detach().requires_grad_()
    model(x).sum().backward()

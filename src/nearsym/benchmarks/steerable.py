"""Steerable convolution over C_4 against the plain convolution of the expanded size, and escnn's.

Forward and backward with 64 channels in all, 41 pixels, batch 64, channels last.
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

PIXELS, BATCH, CHANNELS, KERNEL = 41, 64, 16, 3
PLAIN_TARGET = 1.25
ESCNN_TARGET = 1.0
"""Ours must be the faster."""


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """Exact and relaxed against `nn.Conv2d`, and against escnn where it is installed."""
    batch, rounds = (2, 2) if quick else (BATCH, 15)
    group = cyclic(4)
    total = group.order * CHANNELS
    x = torch.randn(batch, total, PIXELS, PIXELS).to(memory_format=torch.channels_last)
    rho = regular(group)
    layer = partial(SteerableConv2d, rho, rho, CHANNELS, CHANNELS, KERNEL, padding=KERNEL // 2)
    models: dict[str, Callable[[Tensor], Tensor]] = {
        "plain": nn.Conv2d(total, total, KERNEL, padding=KERNEL // 2),
        "exact": layer(),
        "approx": layer(relaxed=True),
    }
    if importlib.util.find_spec("escnn") is not None:
        models["escnn"] = escnn_layer()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        runs = {name: partial(_step, model, x) for name, model in models.items()}
        seconds = interleaved(runs, rounds=rounds)
    finally:
        torch.set_num_threads(before)
    kinds = [("plain", PLAIN_TARGET)] + [("escnn", ESCNN_TARGET)] * ("escnn" in models)
    return [
        ratio_row(f"steerable {name} C4×{CHANNELS} to {peer}", seconds[name], seconds[peer], target)
        for peer, target in kinds
        for name in ("exact", "approx")
    ]


def escnn_layer() -> Callable[[Tensor], Tensor]:
    """The same layer of escnn, from and to plain tensors."""
    from escnn import gspaces
    from escnn import nn as escnn

    space = gspaces.rot2dOnR2(4)
    kind = escnn.FieldType(space, CHANNELS * [space.regular_repr])
    layer = escnn.R2Conv(kind, kind, KERNEL, padding=KERNEL // 2)
    return lambda x: layer(escnn.GeometricTensor(x, kind)).tensor


def _step(model: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Forward and backward, into the input as well: a layer inside a network."""
    x = x.detach().requires_grad_()
    model(x).sum().backward()

"""Group convolutions and group linear layers against plain layers of the expanded size.

Forward and backward at the paper's sizes: 85 pixels, batch 256, channels last (batch 32 where
bfloat16 has to be emulated).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nearsym.benchmarks.timing import interleaved, ratio_row
from nearsym.groups.catalog import dihedral
from nearsym.groups.group import FiniteGroup
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.linear import GroupLinear
from nearsym.runs.train import torch_threads

PIXELS, BATCH, FRAMES = 85, 256, 9
CONV_TARGET = 1.10
CONVS = ((dihedral(1), 22), (dihedral(2), 16))
LINEARS = ((dihedral(1), 720, 0.75), (dihedral(2), 512, 0.55))

EMULATED = (32, 5)
"""Batch and rounds for bfloat16 where it is emulated, several times slower than float32."""


def rows(*, threads: int, quick: bool = False) -> list[dict[str, Any]]:
    """One row for each layer, group and model; `quick` uses small batches and few rounds."""
    sizes = (8, 2) if quick else (BATCH, 9)
    half_sizes = sizes if quick or has_bfloat16() else EMULATED
    with torch_threads(threads):
        measured = [
            row
            for dtype, (batch, rounds) in ((torch.float32, sizes), (torch.bfloat16, half_sizes))
            for group, channels in CONVS
            for row in _conv_rows(group, channels, dtype, batch, rounds)
        ]
        batch, rounds = sizes
        for group, channels, target in LINEARS:
            measured += _linear_rows(group, channels, target, batch, 3 * rounds)
    return measured


def has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 itself."""
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def encoder(first: nn.Module, block: Callable[[], nn.Module]) -> nn.Sequential:
    """The four convolutions of the paper's encoder, which take 85 pixels to 7."""
    layers = [first, nn.ReLU(), block(), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [block(), nn.ReLU(), nn.MaxPool2d(2), block(), nn.ReLU()]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _group_encoder(group: FiniteGroup, channels: int, relaxed: bool) -> nn.Sequential:
    first = LiftingConv2d(group, FRAMES, channels, 3, stride=2, relaxed=relaxed)
    return encoder(first, lambda: GroupConv2d(group, channels, channels, 3, relaxed=relaxed))


def _plain_encoder(channels: int) -> nn.Sequential:
    first = nn.Conv2d(FRAMES, channels, 3, stride=2)
    return encoder(first, lambda: nn.Conv2d(channels, channels, 3))


def _conv_rows(
    group: FiniteGroup, channels: int, dtype: torch.dtype, batch: int, rounds: int
) -> list[dict[str, Any]]:
    images = torch.rand(batch, FRAMES, PIXELS, PIXELS) - 0.5
    images = images.to(memory_format=torch.channels_last)
    models = {
        "plain": _plain_encoder(group.order * channels),
        "exact": _group_encoder(group, channels, relaxed=False),
        "approx": _group_encoder(group, channels, relaxed=True),
    }
    runs = {name: partial(_step, model, images, dtype) for name, model in models.items()}
    seconds = interleaved(runs, rounds=rounds)
    emulated = "bf16" if has_bfloat16() else "bf16, emulated"
    kind = {torch.float32: "fp32", torch.bfloat16: emulated}[dtype]
    return [
        ratio_row(
            f"encoder {model} {group}×{channels} {kind}",
            seconds[model],
            seconds["plain"],
            CONV_TARGET,
        )
        for model in ("exact", "approx")
    ]


def _linear_rows(
    group: FiniteGroup, channels: int, target: float, batch: int, rounds: int
) -> list[dict[str, Any]]:
    x = torch.randn(batch, group.order, channels, requires_grad=True)
    expanded = group.order * channels
    dense = nn.Sequential(nn.Flatten(), nn.Linear(expanded, expanded))
    models = {
        "plain": dense,
        "exact": GroupLinear(group, channels, channels),
        "approx": GroupLinear(group, channels, channels, relaxed=True),
    }
    runs = {name: partial(_step, model, x, torch.float32) for name, model in models.items()}
    seconds = interleaved(runs, rounds=rounds)
    return [
        ratio_row(f"linear {model} {group}×{channels}", seconds[model], seconds["plain"], target)
        for model in ("exact", "approx")
    ]


def _step(model: nn.Module, x: Tensor, dtype: torch.dtype) -> None:
    """Forward and backward; gradients are dropped first, as an optimiser step does."""
    model.zero_grad(set_to_none=True)
    x.grad = None
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        y = model(x)
    y.backward(torch.ones_like(y))

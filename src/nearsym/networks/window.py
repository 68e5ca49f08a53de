"""Encoders of a window of days: equivariant to translation, or to scale and translation, in time.

Observations are flat vectors of window × features, time-major, oldest day first. Every encoder
ends in plain features over the trivial group, (batch, 1, features): policy and critics are
invariant to the symmetry of time.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nearsym.errors import UsageError, unknown_name
from nearsym.layers.init import orthogonal_
from nearsym.layers.residual_path import residual
from nearsym.layers.scale import SCALES, ScaleConv1d, ScaleLiftingConv1d
from nearsym.layers.temporal import TemporalReadout, TranslationConv1d

SYMMETRIES = ("T", "ST")
GAIN = math.sqrt(2.0)  # keeps the scale of features through ReLUs


@dataclass(frozen=True)
class Window:
    """What an observation of days looks like, and the symmetry of time to use."""

    length: int
    """Days."""
    features: int
    """Numbers for each day."""
    symmetry: str
    """T: translation; ST: scale and translation."""

    def __post_init__(self) -> None:
        if self.symmetry not in SYMMETRIES:
            raise unknown_name("symmetry of time", self.symmetry, SYMMETRIES)


class TemporalEncoder(nn.Module):
    """Convolutions over time with ReLU between them, then the mean over the window."""

    def __init__(self, window: Window, layers: list[nn.Module], readout: nn.Module, features: int):
        super().__init__()
        self.window = window
        self.layers = nn.ModuleList(layers)
        self.readout = readout
        self.features = features

    def forward(self, obs: Float[Tensor, "batch flat"]) -> Float[Tensor, "batch 1 features"]:
        x = obs.unflatten(1, (self.window.length, self.window.features)).transpose(1, 2)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.readout(x).unsqueeze(1)


class FlatEncoder(nn.Module):
    """Linear layers with ReLU over the whole window, which know nothing of time."""

    def __init__(self, widths: tuple[int, ...]):
        super().__init__()
        layers = [orthogonal_(nn.Linear(a, b), GAIN) for a, b in pairwise(widths)]
        self.layers = nn.ModuleList(layers)
        self.features = widths[-1]

    def forward(self, obs: Float[Tensor, "batch flat"]) -> Float[Tensor, "batch 1 features"]:
        x = obs
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.unsqueeze(1)


def window_encoder(
    model: str,
    window: Window,
    *,
    hidden: int,
    features: int,
    depth: int = 4,
    kernel_size: int = 5,
    filters: int = 1,
) -> TemporalEncoder | FlatEncoder:
    """The encoder of a model; widths follow the paper's table of trading hyperparameters."""
    inner = (hidden,) * (depth - 1)
    if model == "none":
        return FlatEncoder((window.length * window.features, *inner, features))
    if model == "sit":
        raise UsageError("The model sit reads pixels; a window of days takes another model.")
    relaxed = model == "approx"
    widths = (window.features, *inner, features)
    options = {"relaxed": relaxed, "filters": filters, "padding": "same"}

    def make(layer: Callable[..., Any], sizes: tuple[int, int]) -> nn.Module:
        made = layer(*sizes, kernel_size, window.length, **options)
        made.reset_parameters(GAIN)
        return residual(made) if model == "rpp" else made

    first, *rest = pairwise(widths)
    if window.symmetry == "T":
        layers = [make(TranslationConv1d, sizes) for sizes in (first, *rest)]
        readout = TemporalReadout(window.length, relaxed=relaxed)
    else:
        layers = [make(ScaleLiftingConv1d, first), *(make(ScaleConv1d, s) for s in rest)]
        readout = TemporalReadout(window.length, len(SCALES), relaxed=relaxed)
    return TemporalEncoder(window, layers, readout, features)

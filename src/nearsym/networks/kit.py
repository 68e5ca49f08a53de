"""The layers a network is made of: one kit for each model, one switch in one place.

Encoders, actors and critics ask a kit for layers and never learn which model they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.catalog import trivial
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation, regular, trivial_of
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.lift import ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual_path import residual
from nearsym.layers.scale import SCALES, ScaleConv1d, ScaleLiftingConv1d
from nearsym.layers.steerable import SteerableConv2d
from nearsym.layers.temporal import TemporalReadout, TranslationConv1d

MODELS = ("none", "exact", "approx", "rpp", "sit", "augment", "mirror")
TAUGHT = ("augment", "mirror")
"""The networks of `none`; what symmetry they have comes from the samples they learn from."""
PLAIN = ("none", "sit", *TAUGHT)
"""The models whose layers know no group."""


@dataclass(frozen=True)
class Kit:
    """Makers of layers over one group.

    Feature maps are (batch, |G|·channels, height, width), group-major; features are
    (batch, |G|, channels).
    """

    group: FiniteGroup
    lift_conv: Callable[..., nn.Module]
    """(in_channels, out_channels, kernel_size, stride): plain images to feature maps."""
    conv: Callable[..., nn.Module]
    """(in_channels, out_channels, kernel_size, stride): feature maps to feature maps."""
    linear: Callable[..., nn.Module]
    """(in_channels, out_channels): features to features."""
    project: Callable[..., nn.Module]
    """(representation, in_channels): features to a vector that moves by the representation."""

    def restrict(self, representation: Representation) -> Representation:
        """The representation restricted to the kit's group: itself, or plain numbers."""
        if representation.group == self.group:
            return representation
        return representation.size * trivial_of(self.group)


def make_kit(
    model: str,
    group: FiniteGroup,
    *,
    layers: str = "group",
    filters: int = 1,
    relax: str = "input",
) -> Kit:
    """The kit of a model over a group; the plain models work over the trivial group."""
    if model not in MODELS:
        raise unknown_name("model", model, MODELS)
    if layers not in ("group", "steerable"):
        raise unknown_name("kind of layers", layers, ("group", "steerable"))
    if filters != 1 and model != "approx":
        raise UsageError(f"`filters` belongs to the model approx, not to {model}.")
    if model in PLAIN:
        group = trivial()
    relaxed = model == "approx"
    options: dict[str, Any] = {"relaxed": True, "filters": filters} if relaxed else {}
    # A lifting layer has no input element, so its weights sit on the output whatever `relax` says.
    inner = options | ({"relax": relax} if relaxed else {})
    kit = Kit(
        group,
        lift_conv=partial(LiftingConv2d, group, **options),
        conv=partial(GroupConv2d, group, **inner),
        linear=partial(GroupLinear, group, **inner),
        project=partial(ProjectLinear, **options),
    )
    if layers == "steerable":
        kit = _steerable(kit, options)
    return _residual(kit) if model == "rpp" else kit


def _steerable(kit: Kit, options: dict[str, Any]) -> Kit:
    """Steerable convolutions on maps. On vectors a steerable map between regular features is a
    group-linear one; a kernel of one pixel has no offsets to relax, so there the relaxed weights
    are those of the elements."""
    one, many = trivial_of(kit.group), regular(kit.group)
    return Kit(
        kit.group,
        lift_conv=partial(SteerableConv2d, one, many, **options),
        conv=partial(SteerableConv2d, many, many, **options),
        linear=kit.linear,
        project=kit.project,
    )


def _residual(kit: Kit) -> Kit:
    """Every layer of a kit with a free path beside it (residual pathway priors)."""

    def beside(make: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
        return lambda *args, **kwargs: residual(make(*args, **kwargs))

    return Kit(
        kit.group,
        lift_conv=beside(kit.lift_conv),
        conv=beside(kit.conv),
        linear=beside(kit.linear),
        project=beside(kit.project),
    )


@dataclass(frozen=True)
class TimeKit:
    """Makers of layers over a window of days, (batch, channels, [scales,] days)."""

    lift: Callable[..., nn.Module]
    """(in_channels, out_channels): the features of days to feature maps over time."""
    conv: Callable[..., nn.Module]
    """(in_channels, out_channels): feature maps to feature maps, before a ReLU."""
    head: Callable[..., nn.Module]
    """The same for the layers of actor and critics."""
    readout: Callable[[], TemporalReadout]
    """Feature maps to invariants, (batch, channels)."""


def make_time_kit(
    model: str, symmetry: TimeSymmetry, *, kernel_size: int = 5, filters: int = 1, gain: float = 1.0
) -> TimeKit | None:
    """The kit of a model over a symmetry of time; None for `none`, which uses none."""
    if model not in MODELS:
        raise unknown_name("model", model, MODELS)
    if model == "sit":
        raise UsageError("The model sit reads pixels; a window of days takes another model.")
    if model in TAUGHT:
        raise UsageError(
            f"The model {model} moves samples by the elements of a finite group; none acts "
            "on a window of days, whose borders cut every shift. Use another model."
        )
    if model == "none":
        return None
    relaxed = model == "approx"

    def maker(layer: Callable[..., Any], gain: float = gain) -> Callable[..., nn.Module]:
        def make(in_channels: int, out_channels: int) -> nn.Module:
            made = layer(
                in_channels,
                out_channels,
                kernel_size,
                symmetry.window,
                relaxed=relaxed,
                filters=filters,
                padding="same",
            )
            made.reset_parameters(gain)
            return residual(made) if model == "rpp" else made

        return make

    scales = None if symmetry.kind == "T" else len(SCALES)
    lift = TranslationConv1d if symmetry.kind == "T" else ScaleLiftingConv1d
    inner = TranslationConv1d if symmetry.kind == "T" else ScaleConv1d
    return TimeKit(
        lift=maker(lift),
        conv=maker(inner),
        head=maker(inner, 1.0),  # as the plain heads begin
        readout=partial(TemporalReadout, symmetry.window, scales, relaxed=relaxed),
    )

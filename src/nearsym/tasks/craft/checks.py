"""What the craft accepts: options, actions and states. What fails here changes nothing."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nearsym.errors import UsageError, shown
from nearsym.groups.action import Action, ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import plane_of
from nearsym.groups.symmetry import Symmetry
from nearsym.tasks.craft.dynamics import EPISODE, FARTHEST, FASTEST
from nearsym.tasks.frames import LARGEST_NOISE
from nearsym.training.random_state import check_packed

SIZES = (8, 1024)
"""Smallest and largest picture, in pixels."""
COUNTS = {"frame_stack": 100, "num_envs": 10**6}
"""The most of what is counted."""
LIMIT = 1 + 1e-6
"""How far an action may leave [−1, 1] by rounding; it is then put back on the edge."""


def checked_size(size: Any) -> int:
    low, high = SIZES
    if isinstance(size, (int, np.integer)) and low <= size <= high:
        return int(size)
    nearest = 51
    if isinstance(size, (int, float, np.number)) and math.isfinite(size):
        nearest = min(max(round(float(size)), low), high)
    raise UsageError(
        f"`size` is a whole number of pixels from {low} to {high}, got {shown(size)}. "
        f"Use `size={nearest}`."
    )


def checked_count(name: str, count: Any) -> int:
    most = COUNTS[name]
    if isinstance(count, (int, np.integer)) and 1 <= count <= most:
        return int(count)
    raise UsageError(
        f"`{name}` is a whole number from 1 to {most:,}, got {shown(count)}. Use `{name}=1`."
    )


def checked_noise(noise: Any, obs: str) -> float:
    if not (isinstance(noise, (int, float, np.number)) and 0 <= noise <= LARGEST_NOISE):
        raise UsageError(
            f"`noise` is a standard deviation from 0 to {LARGEST_NOISE:g}, got {shown(noise)}."
        )
    if noise > 0 and obs != "pixels":
        raise UsageError("`noise` is image noise: it needs `obs='pixels'`.")
    return float(noise)


def declared_symmetry(group: FiniteGroup | None, *, pixels: bool, disc: bool) -> Symmetry:
    """D4, or the group asked for, acting on the plane of positions, velocities and actions alike.

    The box of actions allows flips and quarter turns only, and so do pictures; the disc allows all.
    """
    group = dihedral(4) if group is None else group
    if not isinstance(group, FiniteGroup):
        raise UsageError(
            f"`group` is a finite group of the plane such as nearsym.groups.catalog.dihedral(8), "
            f"got {group!r}."
        )
    plane = plane_of(group)
    observation: Action = ImageAction(group, height=-3, width=-2) if pixels else 2 * plane
    return Symmetry(observation, plane, bounded=not disc)


def numbers(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The values as float64, or an error where they are no real numbers of that shape."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty((), object)
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise UsageError(
            f"The craft takes real numbers of shape {shape} as its action, got {array.dtype} of "
            f"shape {array.shape}. Nothing was simulated."
        )
    return array.astype(np.float64)


def outside(action: Any, disc: bool) -> UsageError:
    """The error for an action out of bounds."""
    where = "[-1, 1]², or is such an action turned" if disc else "[-1, 1]²"
    return UsageError(
        f"An action of the craft lies in {where}, got {action!r}. Nothing was simulated."
    )


def check_state(state: Mapping[str, np.ndarray], frames: tuple[int, ...] | None) -> None:
    """Refuse what is no state of a craft, with frames of this shape where it has frames."""
    _check_entry(state, "position", (2,), "fiu")
    _check_entry(state, "velocity", (2,), "fiu")
    _check_entry(state, "steps", (), "iu")
    _check_entry(state, "random", (6,), "u")
    check_packed(state["random"])
    if frames is not None:
        _check_frames(state, frames)
    for name, bound in (("position", FARTHEST), ("velocity", FASTEST)):
        values = np.asarray(state[name])
        if not (np.abs(values) <= bound).all():  # false for NaN too
            raise UsageError(f"The state's {name} lies within ±{bound:g}, got {values.tolist()}.")
    if not 0 <= state["steps"] <= EPISODE:
        raise UsageError(f"The state's steps lie from 0 to {EPISODE}, got {state['steps']}.")


def _check_entry(
    state: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...], kinds: str
) -> None:
    if name not in state:
        raise UsageError(f"This is no state of a craft: it has no {name!r}. {_HINT}")
    array = np.asarray(state[name])
    if array.shape != shape or array.dtype.kind not in kinds:
        raise UsageError(
            f"This is no state of a craft: {name!r} has shape {shape}, got {array.dtype} of shape "
            f"{array.shape}. {_HINT}"
        )


def _check_frames(state: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> None:
    if "frames" not in state:
        raise UsageError("This state has no frames: it comes from an environment of states.")
    frames = np.asarray(state["frames"])
    if frames.shape != shape or frames.dtype != np.uint8:
        raise UsageError(
            f"The state's frames are {frames.dtype} of shape {frames.shape}, this environment's "
            f"uint8 of shape {shape}: `size` and `frame_stack` must agree."
        )


_HINT = "Pass what get_state() gave."

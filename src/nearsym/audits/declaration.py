"""Whether what an environment declares is a symmetry at all, before anything is measured.

What fails here is a mistake to correct, not a number to report: it raises `UsageError`.
"""

import gymnasium as gym
import numpy as np

from nearsym.audits.coordinates import Coordinates
from nearsym.audits.simulator import Simulator, move
from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry
from nearsym.protocols import State

LEVEL = 1e-3
"""False alarms of the test of the initial states, over all coordinates and elements together."""


def check_spaces(symmetry: Symmetry, env: gym.Env, observations: list[np.ndarray]) -> None:
    """Representations are homomorphisms and map the two spaces to themselves."""
    for what, act, space in (
        ("action", symmetry.action, env.action_space),
        ("observation", symmetry.observation, env.observation_space),
    ):
        if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
            raise UsageError(
                f"An audit reads {what}s that are one array, got {space}. Put the environment into "
                "a wrapper that flattens them, and declare the symmetry on it."
            )
        if isinstance(act, Representation):
            _check_homomorphism(act, what)
            _check_size(act, space, what)
            check_box(act, space, what)
    for obs in observations:
        for g in range(symmetry.group.order):
            moved = move(symmetry.observation, env.observation_space, g, obs)
            twice = move(symmetry.observation, env.observation_space, g, moved)
            back = int(symmetry.group.mul[g, g])
            expected = move(symmetry.observation, env.observation_space, back, obs)
            if env.observation_space.contains(obs) and not env.observation_space.contains(moved):
                raise UsageError(
                    f"{symmetry.group.elements[g]} leaves the observation space: an observation "
                    f"of the environment, moved, is not in {env.observation_space}."
                )
            if not np.allclose(twice, expected, rtol=1e-5, atol=1e-6):
                raise UsageError(
                    f"The action on observations is no action of {symmetry.group}: moving twice by "
                    f"{symmetry.group.elements[g]} differs from "
                    f"{symmetry.group.elements[back]}."
                )


def check_transform(simulator: Simulator, states: list[State]) -> None:
    """`transform` is an action of the group on states: s for e, and g·(h·s) = (gh)·s."""
    group, coordinates = simulator.group, simulator.coordinates
    for state in states:
        moved = [simulator.moved(g, state) for g in range(group.order)]
        x = np.stack([coordinates.of(s) for s in moved])
        limit = 1e-6 * np.maximum(1.0, np.abs(x).max(axis=0))
        still = np.abs(coordinates.difference(x[0], coordinates.of(state)))
        if (still > limit).any():
            name = coordinates.names[int(np.argmax(still / limit))]
            raise UsageError(
                f"transform(0, state) must leave a state as it is, but it changes {name}."
            )
        for h in range(group.order):
            for g in range(group.order):
                twice = coordinates.of(simulator.moved(g, moved[h]))
                gap = np.abs(coordinates.difference(twice, x[group.mul[g, h]]))
                if (gap > limit).any():
                    worst = int(np.argmax(gap / limit))
                    turned = abs(gap[worst] / (2 * np.pi) - round(gap[worst] / (2 * np.pi))) < 1e-6
                    _refuse_transform(group, g, h, coordinates.names[worst], turned)


def asymmetric_starts(coordinates: Coordinates, moved: np.ndarray) -> list[dict[str, str | float]]:
    """Coordinates whose distribution at reset differs from its image, by element.

    `moved[i, g]` are the coordinates of g·s₀ for the i-th reset. Half of the resets, moved, are
    compared with the other half by the Kolmogorov-Smirnov test, coordinate by coordinate: it finds
    shifted and lopsided starts, not every joint asymmetry.
    """
    from scipy.stats import ks_2samp  # here: slow to import, and only an audit needs it

    half = len(moved) // 2
    tests = max(1, (moved.shape[1] - 1) * moved.shape[2])
    found: list[dict[str, str | float]] = []
    for g in range(1, moved.shape[1]):
        for i, name in enumerate(coordinates.names):
            # Digits beyond the tenth are rounding; without them equal constants stay equal.
            image, plain = (np.round(s, 10) for s in (moved[:half, g, i], moved[half:, 0, i]))
            if coordinates.angle[i]:  # cut the circle where it does not separate equal angles
                image, plain = np.mod(image + 1e-6, 2 * np.pi), np.mod(plain + 1e-6, 2 * np.pi)
            p = float(ks_2samp(image, plain).pvalue)  # exact: there are few
            if p < LEVEL / tests:
                found.append({"element": g, "coordinate": name, "p_value": p})
    return found


def _check_homomorphism(act: Representation, what: str) -> None:
    group = act.group
    gap = np.einsum("gij,hjk->ghik", act.matrices, act.matrices) - act.matrices[group.mul]
    worst = np.abs(gap).max(axis=(2, 3))
    if worst.max() > 1e-8:
        g, h = np.unravel_index(np.argmax(worst), worst.shape)
        names = group.elements
        raise UsageError(
            f"The {what} matrices are no representation of {group}: ρ({names[g]})·ρ({names[h]}) "
            f"differs from ρ({names[group.mul[g, h]]}) by {worst.max():.3g}."
        )


def _check_size(act: Representation, space: gym.Space, what: str) -> None:
    if isinstance(space, gym.spaces.Discrete):
        if int(space.n) != act.size or not act.is_permutation:
            raise UsageError(
                f"{what.capitalize()}s of {space} move by permutations of {space.n} entries, "
                f"got {act} of size {act.size}."
            )
    elif space.shape is not None and (not space.shape or space.shape[-1] != act.size):
        raise UsageError(
            f"The {what} representation {act} has size {act.size}, "
            f"but {what}s have shape {space.shape}."
        )


def check_box(act: Representation, space: gym.Space, what: str) -> None:
    """ρ(g) maps the box to itself: the image of each side stays within the sides."""
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        return
    low, high = space.low.astype(float), space.high.astype(float)
    for g, matrix in enumerate(act.matrices):
        bottom, top = _image(matrix, low, high)
        outside = (bottom < low - 1e-6 * (1 + np.abs(low))) | (
            top > high + 1e-6 * (1 + np.abs(high))
        )
        if outside.any():
            i = int(np.argmax(outside))
            raise UsageError(
                f"{act.group.elements[g]} leaves the {what} space: entry {i} would reach from "
                f"{bottom[i]:.4g} to {top[i]:.4g}, and the space allows {low[i]:.4g} to "
                f"{high[i]:.4g}."
            )


def _image(matrix: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest box around the image of a box; entries that do not enter do not count."""
    with np.errstate(invalid="ignore"):  # 0·∞ where an entry does not enter
        ends = np.stack([matrix * low, matrix * high])
    ends = np.where(matrix == 0, 0.0, ends)
    return ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)


def _refuse_transform(group: FiniteGroup, g: int, h: int, coordinate: str, turned: bool) -> None:
    names = group.elements
    hint = f" By whole turns: if {coordinate} is an angle, name it in `angles`." if turned else ""
    raise UsageError(
        f"transform is no action of {group} on states: moving by {names[h]} and then by {names[g]} "
        f"differs from {names[group.mul[g, h]]} in {coordinate}.{hint}"
    )

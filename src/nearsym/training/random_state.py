"""Random states as plain data, so that a checkpoint can hold them without a pickle of objects."""

from typing import Any

import numpy as np

from nearsym.errors import UsageError


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """The whole state of a numpy generator in ints, strings and lists.

    >>> rng = np.random.default_rng(0)
    >>> state = generator_state(rng)
    >>> first = rng.random()
    >>> set_generator_state(rng, state)
    >>> rng.random() == first
    True
    """
    return _plain(rng.bit_generator.state)


def set_generator_state(rng: np.random.Generator, state: dict[str, Any]) -> None:
    """The inverse of `generator_state`, for a generator of the same kind."""
    kind = type(rng.bit_generator).__name__
    if state.get("bit_generator") != kind:
        raise UsageError(
            f"The saved random state is of a {state.get('bit_generator')} generator, "
            f"this one is a {kind}. Resume with the numpy version of the run."
        )
    rng.bit_generator.state = state  # numpy takes lists where it gave arrays


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value

"""Random states as plain data or as an array, so that they can be saved without a pickle."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import UInt64

from nearsym.errors import UsageError

_PACKED = "PCG64"
_WORD = 2**64  # the number of values of a word


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


def set_generator_state(rng: np.random.Generator, state: Mapping[str, Any]) -> None:
    """The inverse of `generator_state`, for a generator of the same kind.

    >>> rng, other = np.random.default_rng(0), np.random.default_rng(1)
    >>> set_generator_state(other, generator_state(rng))
    >>> rng.random() == other.random()
    True
    """
    kind = type(rng.bit_generator).__name__
    if state.get("bit_generator") != kind:
        raise UsageError(
            f"The saved random state is of a {state.get('bit_generator')} generator, "
            f"this one is a {kind}. Resume with the numpy version of the run."
        )
    rng.bit_generator.state = dict(state)  # numpy takes lists where it gave arrays


def pack_generator(rng: np.random.Generator) -> UInt64[np.ndarray, "6"]:
    """The whole state of a PCG64 generator, numpy's default, as an array: for `get_state`.

    Its two numbers of 128 bits, state and increment, each as a high and a low word; then whether
    half a word is left over from 32-bit draws, and that half.

    >>> pack_generator(np.random.default_rng(0)).shape
    (6,)
    """
    state = generator_state(rng)
    if state["bit_generator"] != _PACKED:
        raise UsageError(
            f"Only a {_PACKED} generator can be packed, got a {state['bit_generator']}. "
            "Seed the environment with reset(seed=...), which makes one."
        )
    numbers = state["state"]["state"], state["state"]["inc"]
    halves = [half for number in numbers for half in divmod(number, _WORD)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def unpack_generator(rng: np.random.Generator, words: UInt64[np.ndarray, "6"]) -> None:
    """The inverse of `pack_generator`.

    >>> rng, other = np.random.default_rng(0), np.random.default_rng(1)
    >>> unpack_generator(other, pack_generator(rng))
    >>> rng.random() == other.random()
    True
    """
    high, low, inc_high, inc_low, has_uint32, uinteger = (int(word) for word in words)
    numbers = {"state": high * _WORD + low, "inc": inc_high * _WORD + inc_low}
    rest = {"has_uint32": has_uint32, "uinteger": uinteger}
    set_generator_state(rng, {"bit_generator": _PACKED, "state": numbers} | rest)


def check_packed(words: Any) -> None:
    """Refuse what `pack_generator` cannot have given, before anything is changed by it.

    >>> check_packed(np.zeros(6))
    Traceback (most recent call last):
        ...
    nearsym.errors.UsageError: A random state is six words of uint64, got float64 of shape (6,). \
Pass what get_state() gave.
    """
    found = np.asarray(words)
    if found.shape != (6,) or found.dtype != np.uint64:
        raise UsageError(
            f"A random state is six words of uint64, got {found.dtype} of shape {found.shape}. "
            "Pass what get_state() gave."
        )
    spare, half = (int(word) for word in found[4:])
    if spare > 1 or half >= 2**32:
        raise UsageError(f"This is no random state: {found}. Pass what get_state() gave.")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value

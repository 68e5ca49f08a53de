"""Random states survive the trip through plain data and a weights-only load."""

import io

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.training.random_state import (
    generator_state,
    pack_generator,
    set_generator_state,
    unpack_generator,
)


def through_file(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_numpy_generator_continues_exactly(kind):
    rng = np.random.Generator(getattr(np.random, kind)(7))
    rng.integers(0, 5, size=3, dtype=np.uint32)  # leaves half a word buffered in some kinds
    state = through_file(generator_state(rng))
    want = rng.normal(size=100), rng.integers(0, 9, size=33, dtype=np.uint32)
    other = np.random.Generator(getattr(np.random, kind)(8))
    set_generator_state(other, state)
    got = other.normal(size=100), other.integers(0, 9, size=33, dtype=np.uint32)
    assert np.array_equal(want[0], got[0])
    assert np.array_equal(want[1], got[1])


def test_another_kind_is_refused():
    state = generator_state(np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(UsageError, match="of a MT19937 generator, this one is a PCG64"):
        set_generator_state(np.random.default_rng(0), state)


def test_packed_words_have_the_layout_of_saved_runs():
    """Written out with shifts: state, increment (each high word first), and the spare half."""
    rng = np.random.default_rng(7)
    rng.integers(0, 5, size=3, dtype=np.uint32)
    s = rng.bit_generator.state
    state, inc, mask = s["state"]["state"], s["state"]["inc"], 2**64 - 1
    expected = [state >> 64, state & mask, inc >> 64, inc & mask, s["has_uint32"], s["uinteger"]]
    words = pack_generator(rng)
    assert words.dtype == np.uint64
    assert words.tolist() == expected
    assert s["has_uint32"] == 1


def test_a_packed_generator_continues_exactly():
    rng = np.random.default_rng(7)
    rng.integers(0, 5, size=3, dtype=np.uint32)
    words = pack_generator(rng)
    want = rng.integers(0, 9, size=33, dtype=np.uint32), rng.normal(size=100)
    other = np.random.default_rng(8)
    unpack_generator(other, words)
    assert np.array_equal(pack_generator(other), words)
    got = other.integers(0, 9, size=33, dtype=np.uint32), other.normal(size=100)
    assert all(np.array_equal(a, b) for a, b in zip(want, got, strict=True))


def test_only_the_default_generator_is_packed():
    other = np.random.Generator(np.random.MT19937(0))
    with pytest.raises(UsageError, match="Only a PCG64 generator can be packed, got a MT19937"):
        pack_generator(other)
    with pytest.raises(UsageError, match="of a PCG64 generator, this one is a MT19937"):
        unpack_generator(other, pack_generator(np.random.default_rng(0)))

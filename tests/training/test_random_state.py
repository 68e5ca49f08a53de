"""Random states survive the trip through plain data and a weights-only load."""

import io

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.training.random_state import generator_state, set_generator_state


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

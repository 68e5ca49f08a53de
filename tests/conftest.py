"""What all tests share: a bound seed, the two float types and their tolerances."""

import numpy as np
import pytest
import torch
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("ci")

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.fixture(autouse=True)
def _bound_seed():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (libraries under test may use it)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def tolerance(dtype):
    """The largest relative error that counts as rounding."""
    return TOLERANCE[dtype]

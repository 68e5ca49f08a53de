"""The suite checks the shapes of every call; the library itself does not."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.layers.conv import LiftingConv2d
from nearsym.layers.linear import GroupLinear
from nearsym.layers.relaxation import scale_inputs
from nearsym.theory.families import leaking_pair
from nearsym.theory.mdp import FiniteMDP, pushed_forward


def test_shapes_that_do_not_agree_are_found():
    scale_inputs(torch.zeros(5, 2, 3), torch.ones(1, 2))
    with pytest.raises(TypeCheckError, match="scale_inputs"):
        scale_inputs(torch.zeros(5, 2, 3), torch.ones(1, 1))  # torch would broadcast


def test_results_are_checked_too(monkeypatch):
    monkeypatch.setattr(GroupLinear, "over_elements", lambda layer, filters: filters[None, None])
    with pytest.raises(TypeCheckError, match=r"the return value of .*GroupLinear\.contract"):
        GroupLinear(dihedral(1), 2, 3).contract(torch.zeros(6, 4))


def test_fields_of_dataclasses_are_checked():
    with pytest.raises(TypeCheckError, match=r"FiniteMDP\.__init__"):
        FiniteMDP(np.ones((1, 1, 1)), np.ones((1, 1), dtype=int), 0.5)


def test_a_functions_own_errors_come_first():
    with pytest.raises(UsageError, match="expects floating point input"):
        LiftingConv2d(dihedral(1), 1, 1, 3)(torch.zeros(1, 1, 5, 5, dtype=torch.uint8))


def test_numpys_numbers_are_numbers():
    mdp, action = leaking_pair(leak=0.1, discount=0.9)
    pushed_forward(mdp, action, np.int64(1))


def test_it_can_be_switched_off(unchecked):
    assert scale_inputs(torch.zeros(5, 2, 3), torch.ones(1, 1)).shape == (5, 2, 3)


def test_users_do_not_pay_for_it():
    program = "import sys, nearsym.layers.conv; print('beartype' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split() == [b"False"]

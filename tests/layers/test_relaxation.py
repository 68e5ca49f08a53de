"""Reading relaxed weights by name, and the penalty on their spread."""

import pytest
import torch
from torch import nn

from nearsym.groups.catalog import dihedral
from nearsym.layers.linear import GroupLinear
from nearsym.layers.relaxation import mix_outputs, relaxed_weights, scale_inputs, spread_penalty
from nearsym.measures.relaxation import relaxation_summary


@pytest.fixture
def network():
    first = GroupLinear(dihedral(1), 2, 3, relaxed=True)
    second = GroupLinear(dihedral(1), 3, 3, relaxed=True, filters=3)
    return nn.ModuleDict({"first": first, "plain": nn.Linear(2, 2), "second": second})


def test_weights_come_by_the_name_of_their_layer(network):
    weights = relaxed_weights(network)
    assert {name: tuple(w.shape) for name, w in weights.items()} == {
        "first": (1, 2),
        "second": (3, 2),
    }
    assert torch.equal(weights["first"], torch.ones(1, 2))
    assert not weights["first"].requires_grad
    assert list(relaxed_weights(network["first"])) == ["relaxed"]
    assert relaxed_weights(GroupLinear(dihedral(1), 2, 3)) == {}


def test_the_penalty_is_the_squared_distance_from_the_mean(network):
    assert spread_penalty(network).item() == 0.0
    with torch.no_grad():
        network["first"].relaxed.copy_(torch.tensor([[1.0, 3.0]]))
    penalty = spread_penalty(network)
    assert penalty.item() == 2.0
    penalty.backward()
    assert network["first"].relaxed.grad.tolist() == [[-2.0, 2.0]]
    assert spread_penalty(nn.ReLU()).item() == 0.0


def test_the_summary_names_the_layer_that_broke(network):
    with torch.no_grad():
        network["first"].relaxed.copy_(torch.tensor([[1.0, 3.0]]))
    summary = relaxation_summary(network)
    assert summary["first"] == {"mean": 2.0, "smallest": 1.0, "largest": 3.0, "spread": 0.5}
    assert summary["second"]["spread"] == 0.0


def test_scaling_and_mixing_are_filter_major():
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])  # (batch, group, channels)
    w = torch.tensor([[1.0, 10.0], [2.0, 20.0]])  # (filters, group)
    assert scale_inputs(x, w).tolist() == [[[1, 2, 2, 4], [30, 40, 60, 80]]]
    y = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]])
    assert mix_outputs(y, w).tolist() == [[[7, 10], [70, 100]]]

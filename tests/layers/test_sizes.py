"""At which sizes strides and poolings are exact: the rule against the images themselves."""

import warnings

import pytest
import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.pool import SpatialPool2d
from nearsym.layers.residual_path import ResidualPath, residual
from nearsym.layers.sizes import EquivarianceWarning, check_exact, exact_sizes
from nearsym.measures.equivariance import equivariance_error

D2 = dihedral(2)


def symmetric(net):
    """The same network with kernels that no flip changes, so that only edges can break it."""
    net = net.double()
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            with torch.no_grad():
                kernel = module.weight
                kernel.copy_(sum(kernel.flip(axes) for axes in ((), (2,), (3,), (2, 3))))
    return net


NETWORKS = {
    "stride": lambda: nn.Conv2d(1, 2, 3, stride=2),
    "dilation": lambda: nn.Conv2d(1, 2, 3, stride=3, dilation=2),
    "dilated pooling": lambda: nn.MaxPool2d(2, stride=2, dilation=2),
    "same": lambda: nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.MaxPool2d(2)),
    "even same": lambda: nn.Conv2d(1, 2, 2, padding="same"),
    "same with dilation": lambda: nn.Conv2d(1, 2, 2, padding="same", dilation=2),
    "valid": lambda: nn.Conv2d(1, 2, 3, stride=2, padding="valid"),
    "not square": lambda: nn.Conv2d(1, 2, (3, 5), stride=(1, 3), padding=(0, 1)),
    "residual": lambda: nn.Sequential(
        ResidualPath(nn.Conv2d(1, 2, 3, stride=2), nn.Conv2d(1, 2, 3, stride=2)), nn.MaxPool2d(2)
    ),
    "unlike paths": lambda: ResidualPath(nn.Conv2d(1, 2, 3, stride=2), nn.MaxPool2d(3, 2)),
    "one pooling twice": lambda: nn.Sequential(*[nn.MaxPool2d(2)] * 2),
    "ceil": lambda: nn.MaxPool2d(2, ceil_mode=True),
}


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")
@pytest.mark.parametrize("name", NETWORKS)
def test_exact_sizes_are_those_at_which_the_network_commutes_with_flips(name):
    net, act = symmetric(NETWORKS[name]()), ImageAction(D2)
    sizes = range(8, 20)
    errors = {n: equivariance_error(net, torch.randn(2, 1, n, n).double(), act, act) for n in sizes}
    exact = [n for n, error in errors.items() if max(error.values()) < 1e-9]
    assert exact_sizes(net, sizes) == exact


def test_a_residual_network_has_the_sizes_of_its_exact_one():
    def net(wrap):
        lift = LiftingConv2d(D2, 3, 2, 3, stride=2)
        return nn.Sequential(
            wrap(lift), SpatialPool2d(D2, "max", 2), wrap(GroupConv2d(D2, 2, 2, 3))
        )

    assert exact_sizes(net(residual), range(9, 40)) == exact_sizes(
        net(lambda layer: layer), range(9, 40)
    )
    assert exact_sizes(net(residual), range(9, 20)) == [13, 17]


def test_paths_of_unlike_sizes_are_never_exact():
    path = ResidualPath(nn.Conv2d(1, 1, 3), nn.Conv2d(1, 1, 5))
    assert exact_sizes(path, range(5, 20)) == []


def test_where_no_size_is_exact_the_error_says_why():
    with pytest.raises(UsageError, match=r"nor at any size near it\. A kernel with an even number"):
        check_exact(nn.Conv2d(1, 1, 4, padding="same"), 20)


@pytest.mark.parametrize("layer", ["conv", "pool"])
def test_only_axes_that_the_group_flips_are_warned_about(layer):
    group = dihedral(1)
    made = (
        LiftingConv2d(group, 1, 2, 7, stride=5).double()
        if layer == "conv"
        else SpatialPool2d(group, "max", 7, 5)
    )
    x = torch.randn(2, 1, 13, 12).double()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        errors = equivariance_error(made, x, made.in_action, made.out_action)
    assert errors["mirror_x"] < 1e-12  # the height of 13 does not fit, and need not
    with pytest.warns(EquivarianceWarning, match=r"kernel 7, stride 5 .* at a width of 13 pixels"):
        made(x.mT)


def test_a_group_that_flips_the_height_is_warned_about_it():
    with pytest.warns(EquivarianceWarning, match=r"at a height of 14 pixels; at 12 it would be"):
        SpatialPool2d(D2, "max", 7, 5)(torch.zeros(1, 1, 14, 12))

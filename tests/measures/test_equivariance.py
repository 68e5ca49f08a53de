"""The equivariance error against numbers computed by hand."""

import numpy as np
import pytest
import torch
from torch import nn

import nearsym
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant
from nearsym.groups.catalog import dihedral
from nearsym.layers.linear import GroupLinear
from nearsym.measures.equivariance import equivariance_error, numeric_floor

D1, D2 = dihedral(1), dihedral(2)


def shifted(x):
    return x + 1.0


def test_the_mean_of_the_norms_by_hand():
    # f(gx) − g f(x) = (−x + 1) − (−x − 1) = 2 for every x.
    x = np.array([[1.0], [5.0], [9.0]])
    assert equivariance_error(shifted, x, D1.sign(), D1.sign()) == {"mirror_x": 2.0}
    # ‖f(x)‖ is 2, 6 and 10: the mean is 6.
    relative = equivariance_error(shifted, x, D1.sign(), D1.sign(), relative=True)
    assert relative == {"mirror_x": pytest.approx(2 / 6)}


def test_norms_are_per_sample_over_all_axes():
    act = ImageAction(D1)
    x = np.zeros((2, 1, 2, 2))
    x[0, 0, :, 0] = 3.0
    # g f(x) holds the threes and zeros of x[0] in other places: ‖·‖ = √(4·9) = 6; x[1] gives 0.
    error = equivariance_error(lambda x: x, x, Invariant(D1), act)
    assert error == {"mirror_x": pytest.approx(3.0)}


def test_quantiles_by_hand():
    x = np.arange(5.0)[:, None]
    rho = D1.sign()
    errors = equivariance_error(lambda x: x * x, x, rho, rho, quantiles=(0.5, 1.0))  # 2x²
    assert errors == {"mirror_x": {"mean": 12.0, "q0.5": 8.0, "q1": 32.0}}


def test_each_x_the_mean_and_the_largest_by_hand():
    # Definition 1 for f(x) = x²: |(−x)² − (−x²)| = 2x², one number for every x.
    x, rho = np.array([[1.0], [3.0], [0.0]]), D1.sign()
    found = {
        over: equivariance_error(np.square, x, rho, rho, over=over)["mirror_x"]
        for over in ("each", "mean", "max")
    }
    assert found["each"].tolist() == [2.0, 18.0, 0.0]
    assert (found["mean"], found["max"]) == (pytest.approx(20 / 3), 18.0)
    assert type(found["mean"]) is type(found["max"]) is float
    # Relative to the mean of ‖f(x)‖ = 10/3, each of them.
    relative = equivariance_error(np.square, x, rho, rho, over="each", relative=True)
    assert relative["mirror_x"] == pytest.approx(found["each"] / (10 / 3))


@pytest.mark.parametrize("float64", [True, False])
def test_each_x_is_measured_alone(float64):
    """The error at x does not depend on which others are in the batch."""
    net, x, rho = nn.Linear(2, 2), torch.randn(6, 2), D2.vector()
    together = equivariance_error(net, x, rho, rho, over="each", float64=float64)
    for i in range(len(x)):
        alone = equivariance_error(net, x[i : i + 1], rho, rho, over="max", float64=float64)
        assert alone == {g: pytest.approx(e[i], rel=1e-5) for g, e in together.items()}


def test_every_element_but_the_identity_by_name():
    x = torch.randn(4, 2)
    errors = equivariance_error(nn.Linear(2, 2), x, D2.vector(), D2.vector())
    assert list(errors) == ["rot180", "mirror_x", "mirror_y"]
    assert all(isinstance(e, float) and e > 0 for e in errors.values())


def test_functions_of_several_arguments():
    def critic(obs, action):
        return obs * action + action

    batch = np.ones((3, 1)), np.full((3, 1), 2.0)
    # f(gs, ga) − f(s, a) = (2 − 2) − (2 + 2) = −4
    errors = equivariance_error(critic, batch, (D1.sign(), D1.sign()), Invariant(D1))
    assert errors == {"mirror_x": 4.0}
    with pytest.raises(UsageError, match=r"2 arguments needs a tuple of 2 actions, got sign"):
        equivariance_error(critic, batch, D1.sign(), Invariant(D1))


def test_double_precision_and_the_numeric_floor():
    layer = GroupLinear(D2, 16, 16)
    x = torch.randn(8, 4, 16)
    act = D2.regular().along(-2)
    single = max(equivariance_error(layer, x, act, act).values())
    double = max(equivariance_error(layer, x, act, act, float64=True).values())
    floor = numeric_floor(layer, x)
    assert 1e-8 < floor < 1e-4
    assert double < 1e-12 < single < 20 * floor
    assert numeric_floor(layer, x, relative=True) < 1e-5
    assert layer.filters.dtype == torch.float32  # measured on a copy


def test_a_function_that_is_zero_has_no_error():
    x = np.ones((3, 1))
    assert equivariance_error(lambda x: 0 * x, x, D1.sign(), D1.sign(), relative=True) == {
        "mirror_x": 0.0
    }


def test_no_gradients_are_recorded():
    seen = []

    def f(x):
        seen.append(torch.is_grad_enabled())
        return x

    equivariance_error(f, torch.ones(2, 1), D1.sign(), D1.sign())
    assert seen == [False, False]


def test_wrong_use_is_explained():
    x = np.ones((3, 1))
    with pytest.raises(UsageError, match=r"Quantiles lie between 0 and 1, such as 0\.95, got 95"):
        equivariance_error(shifted, x, D1.sign(), D1.sign(), quantiles=(95,))
    with pytest.raises(UsageError, match=r"Unknown value of `over` 'mx'\. Did you mean 'max'\?"):
        equivariance_error(shifted, x, D1.sign(), D1.sign(), over="mx")
    with pytest.raises(
        UsageError, match=r"`quantiles` come beside the mean: leave out `over` 'max'"
    ):
        equivariance_error(shifted, x, D1.sign(), D1.sign(), over="max", quantiles=(0.5,))
    with pytest.raises(UsageError, match=r"`act_in` is a representation, such as .* got 'regular'"):
        equivariance_error(shifted, x, "regular", D1.sign())
    with pytest.raises(UsageError, match="at least one sample, got an empty batch"):
        equivariance_error(shifted, x[:0], D1.sign(), D1.sign())
    with pytest.raises(UsageError, match=r"needs a function of batches: its output has no axis"):
        equivariance_error(lambda x: x.sum(), x, D1.sign(), Invariant(D1))
    with pytest.raises(UsageError, match=r"sign of D1 acts on 1 coordinates, got .* \(3, 2\)"):
        equivariance_error(shifted, np.ones((3, 2)), D1.sign(), D1.sign())


def test_public_name():
    assert nearsym.equivariance_error is equivariance_error

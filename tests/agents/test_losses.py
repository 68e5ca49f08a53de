"""Targets, losses and distributions against numbers worked out by hand."""

import math

import pytest
import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from nearsym.agents.losses import (
    clipped_double_q_target,
    linear_schedule,
    log_one_minus_tanh_squared,
    squashed_normal_log_prob,
    squashed_normal_sample,
    truncated_normal_sample,
    twin_critic_loss,
)


def test_target_takes_the_smaller_critic():
    reward, discount = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.9, 0.5, 0.0])
    next_q = torch.tensor([[10.0, -4.0, 7.0], [20.0, -6.0, 8.0]])
    target = clipped_double_q_target(reward, discount, next_q)
    # 1 + .9·10, 2 + .5·(−6), and nothing after a termination
    assert target.tolist() == pytest.approx([10.0, -1.0, -1.0])


def test_critic_loss_sums_over_critics_and_averages_over_the_batch():
    q, target = torch.tensor([[1.0, 2.0], [0.0, 5.0]]), torch.tensor([2.0, 4.0])
    # ((1 + 4) + (4 + 1)) / 2
    assert twin_critic_loss(q, target).item() == pytest.approx(5.0)


def test_critic_loss_has_the_gradient_of_its_formula():
    q = torch.tensor([[1.0, 2.0], [0.0, 5.0]], requires_grad=True)
    twin_critic_loss(q, torch.tensor([2.0, 4.0])).backward()
    assert q.grad.tolist() == [[-1.0, -2.0], [-2.0, 1.0]]  # 2·(q − target)/2


def test_truncated_noise_by_hand():
    mean, noise = torch.tensor([[0.0, 0.9, -0.9, 0.5]]), torch.tensor([[1.0, 4.0, -4.0, -0.1]])
    wide = truncated_normal_sample(mean, 0.5, noise)
    edge = 1 - 1e-6
    assert wide[0].tolist() == pytest.approx([0.5, edge, -edge, 0.45], abs=1e-7)
    narrow = truncated_normal_sample(mean, 0.5, noise, 0.05)
    assert narrow[0].tolist() == pytest.approx([0.05, 0.95, -0.95, 0.45], abs=1e-7)
    assert wide.abs().max() < 1


def test_gradients_pass_the_border_of_the_box_but_clipped_noise_has_none():
    mean = torch.tensor([[0.99]], requires_grad=True)
    truncated_normal_sample(mean, 1.0, torch.tensor([[5.0]]), 0.3).sum().backward()
    assert mean.grad.item() == 1.0


def test_log_prob_is_that_of_torch_distributions():
    torch.manual_seed(1)
    mean, log_std, noise = (torch.randn(50, 3, dtype=torch.float64) for _ in range(3))
    action, log_prob = squashed_normal_sample(mean, log_std, noise)
    reference = TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform()])
    inside = action.abs().amax(dim=1) < 1 - 1e-6  # torch's own inverse loses digits at the border
    expected = reference.log_prob(action).sum(-1)
    assert torch.allclose(log_prob[inside], expected[inside], rtol=0, atol=1e-8)
    assert inside.sum() > 30
    again = squashed_normal_log_prob(mean, log_std, action)
    assert torch.allclose(again[inside], log_prob[inside], rtol=0, atol=1e-8)


def test_log_prob_of_the_mean_of_a_standard_normal():
    zero = torch.zeros(1, 2, dtype=torch.float64)
    _, log_prob = squashed_normal_sample(zero, zero, zero)
    assert log_prob.item() == pytest.approx(-math.log(2 * math.pi), abs=1e-12)


def test_density_integrates_to_one():
    grid = torch.linspace(-1, 1, 200_001, dtype=torch.float64)[1:-1].unsqueeze(1)
    mean, log_std = torch.full_like(grid, 0.3), torch.full_like(grid, -0.5)
    density = squashed_normal_log_prob(mean, log_std, grid).exp()
    assert density.mean().item() * 2 == pytest.approx(1.0, abs=1e-4)


def test_the_jacobian_is_finite_far_out(dtype):
    u = torch.tensor([-400.0, -30.0, 0.0, 30.0, 400.0], dtype=dtype)
    found = log_one_minus_tanh_squared(u)
    expected = torch.where(u == 0, 0.0, 2 * math.log(2) - 2 * u.abs())
    assert torch.allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("step", "value"), [(-5, 1.0), (0, 1.0), (25, 0.775), (100, 0.1), (10**9, 0.1)]
)
def test_schedule(step, value):
    assert linear_schedule(1.0, 0.1, 100, step) == pytest.approx(value)

"""Targets, losses and distributions as pure functions of tensors."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus


def clipped_double_q_target(
    reward: Float[Tensor, " batch"],
    discount: Float[Tensor, " batch"],
    next_q: Float[Tensor, "critics batch"],
) -> Float[Tensor, " batch"]:
    """r + γ·min_i Q_i(s', a'), with the smaller of the critics' values (Fujimoto et al. 2018).

    >>> clipped_double_q_target(
    ...     torch.tensor([1.0]), torch.tensor([0.5]), torch.tensor([[4.0], [6.0]])
    ... )
    tensor([3.])
    """
    return reward + discount * next_q.amin(dim=0)


def twin_critic_loss(
    q: Float[Tensor, "critics batch"], target: Float[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """Squared error of each critic, averaged over the batch, summed over the critics.

    >>> twin_critic_loss(torch.tensor([[1.0, 3.0], [2.0, 2.0]]), torch.tensor([2.0, 2.0]))
    tensor(1.)
    """
    return (q - target).square().mean(dim=1).sum()


def truncated_normal_sample(
    mean: Float[Tensor, "batch action"],
    std: float,
    noise: Float[Tensor, "batch action"],
    clip: float | None = None,
) -> Float[Tensor, "batch action"]:
    """mean + std·noise, the noise clipped to ±clip and the action to the open box (−1, 1).

    The gradient passes straight through the second clipping, as in the published DrQ-v2, so that
    an action at the border can still be pulled back.

    >>> mean, noise = torch.tensor([[0.5]]), torch.tensor([[2.0]])
    >>> truncated_normal_sample(mean, std=0.1, noise=noise, clip=0.1)
    tensor([[0.6000]])
    """
    shift = std * noise if clip is None else (std * noise).clamp(-clip, clip)
    action = mean + shift
    low, high = -1.0 + 1e-6, 1.0 - 1e-6
    return action - action.detach() + action.detach().clamp(low, high)


def squashed_normal_sample(
    mean: Float[Tensor, "batch action"],
    log_std: Float[Tensor, "batch action"],
    noise: Float[Tensor, "batch action"],
) -> tuple[Float[Tensor, "batch action"], Float[Tensor, " batch"]]:
    """a = tanh(u), u = mean + σ·noise, and log π(a).

    log π(a) = log N(u) − Σ log(1 − tanh²u), with 1 − tanh²u = 4 / (eᵘ + e⁻ᵘ)² written without
    cancellation.

    >>> zero = torch.zeros(1, 1)
    >>> squashed_normal_sample(zero, log_std=zero, noise=zero)  # log π = −½ log 2π
    (tensor([[0.]]), tensor([-0.9189]))
    """
    u = mean + log_std.exp() * noise
    log_normal = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
    return torch.tanh(u), (log_normal - log_one_minus_tanh_squared(u)).sum(dim=-1)


def squashed_normal_log_prob(
    mean: Float[Tensor, "batch action"],
    log_std: Float[Tensor, "batch action"],
    action: Float[Tensor, "batch action"],
) -> Float[Tensor, " batch"]:
    """log π(a) of a given action inside the open box.

    >>> squashed_normal_log_prob(torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1, 1))
    tensor([-0.9189])
    """
    u = torch.atanh(action)
    noise = (u - mean) / log_std.exp()
    return squashed_normal_sample(mean, log_std, noise)[1]


def log_one_minus_tanh_squared(u: Tensor) -> Tensor:
    """log(1 − tanh²u) = 2·(log 2 − u − softplus(−2u)), stable for large |u|.

    >>> log_one_minus_tanh_squared(torch.tensor(100.0))
    tensor(-198.6137)
    """
    return 2.0 * (math.log(2.0) - u - softplus(-2.0 * u))


def linear_schedule(start: float, end: float, duration: float, step: float) -> float:
    """From start to end over `duration` steps, then constant.

    >>> linear_schedule(1.0, 0.0, 10, 5), linear_schedule(1.0, 0.0, 10, 50)
    (0.5, 0.0)
    """
    share = min(max(step / duration, 0.0), 1.0)
    return start + share * (end - start)

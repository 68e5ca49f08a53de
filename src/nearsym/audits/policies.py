"""Ways to act in an audit: random ones, which show more of a task than one policy would, and a
policy of one's own."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.wrappers import (
    action_inside,
    check_transparent,
    observation_outside,
    wrappers_between,
)
from nearsym.errors import UsageError

Policy = Callable[[np.ndarray], Any]
"""Observation to action. A fresh one is made for every episode."""
PolicyMaker = Callable[[gym.Env, np.random.Generator], Policy]


def uniform(env: gym.Env, rng: np.random.Generator) -> Policy:
    """Every action drawn anew from the whole space (unbounded sides: standard normal)."""
    return lambda obs: draw_action(env.action_space, rng)


def held(env: gym.Env, rng: np.random.Generator) -> Policy:
    """Each action held for a random while, of up to 100 steps on average: slow pushes."""
    rate = 1 / rng.uniform(2, 100)
    action = draw_action(env.action_space, rng)

    def act(obs: np.ndarray) -> Any:
        nonlocal action
        if rng.random() < rate:
            action = draw_action(env.action_space, rng)
        return action

    return act


def swinging(env: gym.Env, rng: np.random.Generator) -> Policy:
    """Full strength to and fro with a random period of 10 to 400 steps: it pumps pendulums up."""
    space = env.action_space
    if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
        return held(env, rng)
    period = np.exp(rng.uniform(np.log(10), np.log(400), size=space.shape))
    phase = rng.uniform(0, 2 * np.pi, size=space.shape)
    step = 0

    def act(obs: np.ndarray) -> Any:
        nonlocal step
        step += 1
        wave = np.sign(np.sin(2 * np.pi * step / period + phase))
        noisy = np.clip(wave + 0.3 * rng.standard_normal(space.shape), -1, 1)
        return from_unit(space, noisy)

    return act


def feedback(env: gym.Env, rng: np.random.Generator) -> Policy:
    """A random linear map of the observation, scaled by what it has seen, with noise."""
    space, obs_space = env.action_space, env.observation_space
    vector = isinstance(obs_space, gym.spaces.Box) and len(obs_space.shape) == 1
    if not isinstance(space, gym.spaces.Box) or not space.is_bounded() or not vector:
        return held(env, rng)
    assert obs_space.shape is not None
    weights = rng.standard_normal((*space.shape, *obs_space.shape))
    second_moment = np.full(obs_space.shape, 1e-6)

    def act(obs: np.ndarray) -> Any:
        nonlocal second_moment
        second_moment = np.maximum(0.999 * second_moment, np.square(obs, dtype=np.float64))
        drive = weights @ (obs / np.sqrt(second_moment))
        return from_unit(space, np.tanh(drive + 0.3 * rng.standard_normal(space.shape)))

    return act


RANDOM_POLICIES: tuple[PolicyMaker, ...] = (uniform, held, swinging, feedback)
"""What an audit uses unless told otherwise; each episode draws one of them."""


def acting_in(env: gym.Env, policy: Policy) -> PolicyMaker:
    """A policy that acts in `env`, for episodes that are stepped at a layer further in."""

    def make(layer: gym.Env, rng: np.random.Generator) -> Policy:
        around = wrappers_between(env, layer)
        check_transparent(around)
        return lambda obs: action_inside(around, policy(observation_outside(around, obs)))

    return make


def draw_action(space: gym.Space, rng: np.random.Generator) -> Any:
    """One random action; the space's own generator stays untouched."""
    if isinstance(space, gym.spaces.Discrete):
        return int(space.start + rng.integers(space.n))
    if not isinstance(space, gym.spaces.Box):
        raise UsageError(f"An audit needs a Box or Discrete action space, got {space}.")
    low, high = space.low.astype(float), space.high.astype(float)
    bounded = np.isfinite(low) & np.isfinite(high)
    inside = rng.uniform(np.where(bounded, low, 0), np.where(bounded, high, 1))
    free = np.clip(rng.standard_normal(space.shape), low, high)
    return np.where(bounded, inside, free).astype(space.dtype)


def from_unit(space: gym.spaces.Box, action: np.ndarray) -> np.ndarray:
    """From [−1, 1] to the box."""
    middle, half = (space.high + space.low) / 2.0, (space.high - space.low) / 2.0
    return (middle + half * action).astype(space.dtype)

"""Candidates, tried on samples: what is exact, what is near, what the reward alone breaks."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.audits.declaration import check_box
from nearsym.audits.fits import fit_most, fit_signed
from nearsym.audits.moves import Entries, Move
from nearsym.audits.policies import draw_action
from nearsym.audits.world import Outcome, World
from nearsym.discovery.elements import Element
from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic
from nearsym.groups.representation import Representation
from nearsym.physics.signed import SignedPermutation
from nearsym.protocols import State

NEAR = 0.5
"""Mismatch, in mean steps or mean deviations of the reward, up to which an element is near."""
FEW = 4
"""Samples that are enough to see that an element is far off."""
REWARD = 1e-6
"""Rounding of rewards, in parts of the largest."""
EXACTLY, ROUGHLY = 1e-4, 0.2
"""How far observations may be from each other's images, in parts of their size."""


@dataclass(frozen=True)
class Trial:
    """What the samples say about one move."""

    element: Element
    steps: float
    """Mean mismatch of next states, in mean steps."""
    rewards: float
    """Mean difference of rewards, in mean deviations."""
    moves_exactly: bool
    """Whether next states agree at every sample, but for rounding."""
    paid_exactly: bool

    @property
    def exact(self) -> bool:
        return self.moves_exactly and self.paid_exactly

    @property
    def near(self) -> bool:
        return self.steps <= NEAR and self.rewards <= NEAR


class Trials:
    """Steps from states that occur, and from their images under one move after another."""

    def __init__(self, world: World, entries: Entries, visited: list[State], seed: int):
        self.world, self.entries, self.visited = world, entries, visited
        rng = np.random.default_rng((seed, 7))
        space = world.env.action_space
        self.actions = [draw_action(space, rng) for _ in visited]
        self.plain = [world.outcome(s, a) for s, a in zip(self.visited, self.actions, strict=True)]
        self.seen = [world.observe(s) for s in visited] if world.observes else []
        x = np.array([outcome.x for outcome in self.plain])
        self.scale = world.coordinates.spread(x)
        starts = np.array([world.coordinates.of(s) for s in visited])
        self.step = float(world.coordinates.distance(x, starts, self.scale).mean())
        rewards = np.array([outcome.reward for outcome in self.plain])
        self.deviation = float(np.abs(rewards - rewards.mean()).mean())
        self.reward_rounding = REWARD * max(1.0, float(np.abs(rewards).max()))

    def of(self, move: Move) -> Trial | None:
        """How well a move does; None if it is far off, or if no observation goes with it."""
        mismatch, rewards, images = [], [], []
        for k in range(len(self.visited)):
            image = self._image(move, k)
            mismatch.append(self._apart(move, k, image))
            rewards.append(abs(image.reward - self.plain[k].reward))
            images.append(image)
            if k + 1 == FEW and min(mismatch) > 4 * NEAR * self.step:
                return None
        exactly = max(mismatch) <= self.world.coordinates.rounding
        shown = self._shown(move, images, exactly)
        if shown is None or not self._inside(move, shown):
            return None
        deviation = self.deviation if self.deviation > self.reward_rounding else 1.0
        return Trial(
            Element(move, shown),
            float(np.mean(mismatch)) / max(self.step, 1e-300),
            float(np.mean(rewards)) / deviation,
            exactly,
            max(rewards) <= self.reward_rounding,
        )

    def _image(self, move: Move, k: int) -> Outcome:
        action = np.asarray(self.actions[k])
        moved = move.action(action).astype(action.dtype)
        return self.world.outcome(self.entries.moved(move, self.visited[k]), moved)

    def _apart(self, move: Move, k: int, image: Outcome) -> float:
        """How far the two next states are apart; a step that alone ends the episode counts 1."""
        coordinates = self.world.coordinates
        expected = coordinates.of(self.entries.moved(move, self.plain[k].state))
        ended = self.plain[k].terminated != image.terminated
        return float(coordinates.distance(expected, image.x, self.scale)) + float(ended)

    def _shown(self, move: Move, images: list[Outcome], exactly: bool) -> SignedPermutation | None:
        """How observations move: of the states themselves, where they can be asked for, or else
        after the steps. Where steps are off, so may be what depends on forces."""
        if self.world.observes:
            moved = [self.world.observe(self.entries.moved(move, s)) for s in self.visited]
            x, y = np.array(self.seen, dtype=float), np.array(moved, dtype=float)
            found = fit_signed(x, y, EXACTLY)
        else:
            x, y = (np.array([o.obs for o in outs], float) for outs in (self.plain, images))
            found = fit_signed(x, y, EXACTLY if exactly else ROUGHLY)
        if found is not None or exactly:
            return found
        return fit_most(x, y, ROUGHLY, involution=not move.after(move).changes)

    def _inside(self, move: Move, shown: SignedPermutation) -> bool:
        """Whether both spaces are mapped to themselves."""
        space: Any = self.world.env.observation_space
        env: gym.Env = self.world.env
        pairs = ((shown, space), (move.action, env.action_space))
        try:
            for signed, box in pairs:
                only = Representation(cyclic(1), signed.matrix[None], "found")
                check_box(only, box, "found")
        except UsageError:
            return False
        return True

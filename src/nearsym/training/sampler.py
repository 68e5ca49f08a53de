"""Which steps can be sampled from the newest `capacity` slots, and what their n-step returns are.

With age(i) = the steps since slot i's episode began, and slot i holding the action a, reward r and
discount d of the step that led to it, the window that starts at slot i has

    m = the largest m ≤ n such that slot i+m is written and of the same episode,
    R = Σ_{k≤m} γᵏ⁻¹ (Π_{j<k} d_{i+j}) r_{i+k},      Γ = γᵐ Π_{k≤m} d_{i+k}.

A window that would pass the end of its episode, or the last slot written, is shortened and
bootstraps from the observation there. Published DrQ-v2 never samples the last n−1 steps of an
episode; shortening uses them too, and its target is as valid.
"""

from typing import Any

import numpy as np

from nearsym.errors import UsageError

FIELDS = ("action", "reward", "discount", "age")


class Sampler:
    """The small fields of the newest slots as rings, which sampling gathers in one step.

    Slots are numbered from `start`, which is not 0 for a sampler rebuilt from a checkpoint.
    """

    def __init__(
        self,
        record: np.dtype,
        *,
        capacity: int,
        stack: int,
        nstep: int,
        discount: float,
        start: int = 0,
    ):
        self.capacity = capacity
        self.stack = stack
        self.nstep = nstep
        self.discount = discount
        self.size = start  # the number of the next slot
        self._start = start
        self._columns = {
            name: np.zeros((capacity, *record[name].shape), record[name].base) for name in FIELDS
        }
        self._episodes = 0  # episode starts among the slots held

    @property
    def nbytes(self) -> int:
        """Memory taken when full."""
        return sum(column.nbytes for column in self._columns.values())

    def append(self, records: np.ndarray) -> None:
        """Take the small fields of the next slots; at most `capacity` of them at once."""
        slots = np.arange(self.size, self.size + len(records))
        evicted = slots[slots - self.capacity >= self._start]
        self._episodes -= int(np.count_nonzero(self.at("age", evicted) == 0))
        self._episodes += int(np.count_nonzero(records["age"] == 0))
        for name, column in self._columns.items():
            column[slots % self.capacity] = records[name]
        self.size += len(records)

    def at(self, name: str, slots: Any) -> Any:
        """A field at some of the slots held."""
        return self._columns[name][slots % self.capacity]

    def check(self, size: int) -> None:
        """Refuse what are not `size` slots, or not slots of episodes: drawing might never end."""
        if self.size != size:
            raise ValueError(f"of its {size:,} slots some are missing")
        ages = self.at("age", np.arange(max(self._start, self.oldest), self.size))
        follows = (ages[1:] == 0) | (ages[1:] == ages[:-1] + 1)
        if ages.size and (ages[0] < 0 or not follows.all()):
            raise ValueError("the ages of its slots are not those of episodes")

    @property
    def oldest(self) -> int:
        """The first slot held."""
        return max(0, self.size - self.capacity)

    @property
    def first(self) -> int:
        """The first slot whose whole stack of frames is held."""
        slot = oldest = self.oldest
        while slot < self.size and slot - oldest < min(self.at("age", slot), self.stack - 1):
            slot += 1
        return slot

    def __len__(self) -> int:
        """How many slots a sampled step can start from."""
        first = self.first
        if first >= self.size:
            return 0
        return self.size - first - self._episodes - int(self.at("age", first) > 0)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Slots to start from, uniform with replacement, by rejecting the ends of episodes."""
        if len(self) == 0:
            raise UsageError("This replay holds no transition yet. Call start, then add.")
        first, last = self.first, self.size - 1
        slots = rng.integers(first, last, size=count)
        while (redraw := np.flatnonzero(self.at("age", slots + 1) == 0)).size:
            slots[redraw] = rng.integers(first, last, size=redraw.size)
        return slots

    def returns(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """m, R and Γ of the windows that start at `slots`."""
        steps = np.zeros_like(slots)
        reward, discount = np.zeros(slots.shape), np.ones(slots.shape)
        inside = np.ones(slots.shape, bool)
        for k in range(1, self.nstep + 1):
            # Past the newest slot the ring shows the oldest: "written" is asked beside "age".
            inside &= (slots + k < self.size) & (self.at("age", slots + k) > 0)
            reward += np.where(inside, discount * self.at("reward", slots + k), 0.0)
            discount *= np.where(inside, self.discount * self.at("discount", slots + k), 1.0)
            steps += inside
        return steps, reward, discount

    def frames(self, slots: np.ndarray) -> np.ndarray:
        """The slots of each stack's frames, oldest first: (batch, stack)."""
        back = np.arange(self.stack - 1, -1, -1)
        return slots[:, None] - np.minimum(back, self.at("age", slots)[:, None])

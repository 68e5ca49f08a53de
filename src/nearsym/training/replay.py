"""Replay that stores every frame once and builds stacks and n-step returns when it is sampled.

The observations of all episodes form one endless sequence of slots; slot i holds the newest frame
of an observation and the action, reward and discount that led to it. `storage.py` keeps the slots,
`sampler.py` says which of them can be sampled; `Replay` joins the two. With age(i) = the steps
since slot i's episode began,

    obs(i) = frames of slots i − min(age(i), stack−1−k), k = 0 … stack−1      (oldest first).
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nearsym.agents.batch import Batch
from nearsym.errors import UsageError
from nearsym.training.sampler import Sampler
from nearsym.training.storage import SegmentLog

SEGMENT_BYTES = 64 * 2**20


class Replay:
    """The newest `capacity` observations, in memory or memory-mapped in `folder`.

    `capacity` counts stored observations: an episode of T steps takes T + 1. Memory and disk are
    taken segment by segment as it fills. Randomness is handed to `sample`; the replay has none.

    >>> replay = Replay(capacity=100, obs_shape=(2,), obs_dtype=np.float32, action_size=1)
    >>> replay.start(np.zeros(2, np.float32))
    >>> for step in range(5):
    ...     replay.add(np.array([0.5]), reward=1.0, discount=1.0, next_obs=np.ones(2, np.float32))
    >>> len(replay), replay.sample(8, np.random.default_rng(0)).obs.shape
    (5, torch.Size([8, 2]))
    """

    def __init__(
        self,
        *,
        capacity: int,
        obs_shape: tuple[int, ...],
        obs_dtype: Any,
        action_size: int,
        nstep: int = 3,
        discount: float = 0.99,
        frame_stack: int = 1,
        folder: Path | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ):
        self.layout = _checked_layout(obs_shape, obs_dtype, action_size, frame_stack)
        if capacity < nstep + frame_stack + 1:
            raise UsageError(
                f"A replay of {nstep} steps and stacks of {frame_stack} needs a `capacity` of "
                f"at least {nstep + frame_stack + 1} observations, got {capacity}."
            )
        if nstep < 1:
            raise UsageError(f"`nstep` must be at least 1, got {nstep}.")
        if not 0 <= discount <= 1:
            raise UsageError(f"`discount` must lie in [0, 1], got {discount}.")
        self.capacity = capacity
        self.obs_shape = tuple(obs_shape)
        self.frame_stack = frame_stack
        self.nstep = nstep
        self.discount = discount
        self._channels = obs_shape[-1] // frame_stack
        length = max(1, min(segment_bytes // self.layout.itemsize, math.ceil(capacity / 16)))
        self._log = SegmentLog(self.layout, length=length, folder=folder)
        self._slot = np.zeros(1, self.layout)
        self._sampler = self._empty_sampler()
        self._running = False

    def _empty_sampler(self, start: int = 0) -> Sampler:
        return Sampler(
            self.layout,
            capacity=self.capacity,
            stack=self.frame_stack,
            nstep=self.nstep,
            discount=self.discount,
            start=start,
        )

    def __len__(self) -> int:
        """How many transitions can be sampled."""
        return len(self._sampler)

    # ------------------------------------------------------------------ writing

    def start(self, obs: np.ndarray) -> None:
        """Begin an episode with its first observation, whose stack repeats one frame."""
        flat = self._flat(obs)
        newest = self._newest_frame(flat)
        if not all(self._holds(flat, k, newest) for k in range(self.frame_stack - 1)):
            raise UsageError(
                "The first observation of an episode must repeat one frame in its whole stack; "
                "these frames differ. Fill the stack with the first frame at reset."
            )
        self._append(newest, 0.0, 0.0, 1.0, age=0)
        self._running = True

    def add(self, action: np.ndarray, reward: float, discount: float, next_obs: np.ndarray) -> None:
        """Store one step; `discount` is 0 for a true termination and 1 otherwise."""
        if not self._running:
            raise UsageError("No episode is running in this replay. Call start(obs) first.")
        self._check_step(action, reward, discount)
        flat = self._flat(next_obs)
        last = self._log.size - 1
        age = int(self._sampler.at("age", last)) + 1
        for k in range(self.frame_stack - 1):
            number, row = divmod(last - min(self.frame_stack - 2 - k, age - 1), self._log.length)
            if not self._holds(flat, k, self._log.segments[number]["obs"][row]):
                raise UsageError(
                    "Neighbouring observations of an episode must share their frames, one new "
                    f"one per step; at step {age} they do not. Draw image noise once per frame."
                )
        self._append(self._newest_frame(flat), action, reward, discount, age=age)
        self._running = discount != 0.0

    def _check_step(self, action: np.ndarray, reward: float, discount: float) -> None:
        shape = self.layout["action"].shape
        if np.shape(action) != shape:
            raise UsageError(f"This replay holds actions of shape {shape}, got {np.shape(action)}.")
        if not (np.all(np.isfinite(action)) and math.isfinite(reward) and 0 <= discount <= 1):
            raise UsageError(
                "A step needs a finite action and reward and a discount in [0, 1], got "
                f"action {np.asarray(action)}, reward {reward}, discount {discount}."
            )

    def check_observation(self, obs: np.ndarray) -> None:
        """Refuse what is no observation of the kind that is stored here."""
        dtype = self.layout["obs"].base
        if not isinstance(obs, np.ndarray) or obs.shape != self.obs_shape or obs.dtype != dtype:
            raise UsageError(
                f"This replay holds {dtype} observations of shape {self.obs_shape}, got "
                f"{getattr(obs, 'dtype', type(obs).__name__)} {np.shape(obs)}. An environment has "
                "to keep to its observation_space."
            )

    def _flat(self, obs: np.ndarray) -> np.ndarray:
        self.check_observation(obs)
        return np.ascontiguousarray(obs).reshape(-1)

    # Frames are handled one channel at a time: a strided loop over a whole plane is many times
    # faster than one over pixels of three bytes.

    def _plane(self, k: int, channel: int) -> slice:
        """Where one channel of frame k lies in a flat stack."""
        return slice(k * self._channels + channel, None, self.frame_stack * self._channels)

    def _newest_frame(self, flat: np.ndarray) -> np.ndarray:
        if self.frame_stack == 1:
            return flat
        frame = np.empty(self.layout["obs"].shape, flat.dtype)
        for c in range(self._channels):
            frame[c :: self._channels] = flat[self._plane(self.frame_stack - 1, c)]
        return frame

    def _holds(self, flat: np.ndarray, k: int, frame: np.ndarray) -> bool:
        """Whether `frame` is frame k of a flat stack."""
        planes = range(self._channels)
        return all(
            np.array_equal(flat[self._plane(k, c)], frame[c :: self._channels]) for c in planes
        )

    def _append(
        self, frame: np.ndarray, action: Any, reward: float, discount: float, *, age: int
    ) -> None:
        slot = self._slot[0]
        slot["obs"] = frame
        slot["action"], slot["reward"] = action, reward
        slot["discount"], slot["age"] = discount, age
        self._log.append(self._slot)  # first: if the disk refuses, nothing has changed
        self._sampler.append(self._slot)
        self._log.drop(before=self._sampler.oldest)

    # ------------------------------------------------------------------ sampling

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """`batch_size` transitions, uniform with replacement over all that can be sampled.

        The tensors are fresh; they stay as they are when the replay goes on.
        """
        return self._gather(self._sampler.draw(batch_size, rng))

    def _gather(self, slots: np.ndarray) -> Batch:
        steps, reward, discount = self._sampler.returns(slots)
        return Batch(
            obs=torch.from_numpy(self._stacks(slots)),
            action=torch.from_numpy(self._sampler.at("action", slots + 1)),
            reward=torch.from_numpy(reward.astype(np.float32)),
            discount=torch.from_numpy(discount.astype(np.float32)),
            next_obs=torch.from_numpy(self._stacks(slots + steps)),
        )

    def _stacks(self, slots: np.ndarray) -> np.ndarray:
        """The stacked observations at `slots`, a fresh array of shape (batch, *obs_shape)."""
        frames = self._frames(self._sampler.frames(slots))  # (batch, stack, numbers of a frame)
        if self.frame_stack == 1:
            return frames.reshape(-1, *self.obs_shape)
        stacks = np.empty((len(slots), math.prod(self.obs_shape)), frames.dtype)
        for k in range(self.frame_stack):
            for c in range(self._channels):
                stacks[:, self._plane(k, c)] = frames[:, k, c :: self._channels]
        return stacks.reshape(-1, *self.obs_shape)

    def _frames(self, slots: np.ndarray) -> np.ndarray:
        """The frames of slots in any arrangement."""
        numbers, rows = np.divmod(slots, self._log.length)
        field = self.layout["obs"]
        out = np.empty((*slots.shape, *field.shape), field.base)
        for number in np.unique(numbers):
            here = numbers == number
            out[here] = self._log.segments[int(number)]["obs"][rows[here]]
        return out

    # ------------------------------------------------------------------ checkpoints

    def commit(self, folder: Path | None = None) -> dict[str, Any]:
        """Make the content durable in `folder` and return the plain data that `restore` takes.

        Only what is new since the last commit is written. A memory-mapped replay has its own
        folder. Call `release` once the checkpoint that holds the result is on the disk.
        """
        log = self._log.commit(self._folder(folder))
        return {"replay": self._description(), "log": log}

    def release(self, folder: Path | None = None) -> None:
        """Delete segments that neither sampling nor the last two checkpoints need."""
        self._log.release(self._folder(folder))

    def restore(self, state: dict[str, Any], folder: Path | None = None) -> None:
        """Become the replay that was committed, bit for bit.

        Raises `CorruptError` if its files do not match their checksums any more; the replay must
        then be restored from another checkpoint before it is used.
        """
        if state["replay"] != self._description():
            raise UsageError(
                f"The saved replay has the settings {state['replay']}, this one has "
                f"{self._description()}. Resume with the settings of the run."
            )
        self._log.restore(state["log"], self._folder(folder))
        sampler = self._empty_sampler(start=max(0, self._log.size - self.capacity))
        for number, records in sorted(self._log.segments.items()):
            start = number * self._log.length
            sampler.append(records[max(sampler.size - start, 0) : self._log.size - start])
        sampler.check(size=self._log.size)
        self._sampler = sampler
        self._running = self._log.size > 0 and sampler.at("discount", self._log.size - 1) != 0

    def _description(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity,
            "obs_shape": list(self.obs_shape),
            "obs_dtype": str(self.layout["obs"].base),
            "action_size": self.layout["action"].shape[0],
            "nstep": self.nstep,
            "discount": self.discount,
            "frame_stack": self.frame_stack,
            "segment_length": self._log.length,
        }

    def _folder(self, folder: Path | None) -> Path:
        if self._log.folder is not None:
            return self._log.folder
        if folder is None:
            raise UsageError("A replay in memory needs the folder that its segments are saved in.")
        return folder


def _checked_layout(
    obs_shape: tuple[int, ...], obs_dtype: Any, action_size: int, frame_stack: int
) -> np.dtype:
    """The record of one slot; small fields first, so that all of them are aligned."""
    dtype = np.dtype(obs_dtype)
    if dtype not in (np.uint8, np.float32):
        raise UsageError(f"A replay holds uint8 images or float32 vectors, got {dtype}.")
    if len(obs_shape) == 0 or frame_stack < 1 or obs_shape[-1] % frame_stack != 0:
        raise UsageError(
            f"The last axis of an observation must hold a stack of {frame_stack} frames, "
            f"got the shape {tuple(obs_shape)}."
        )
    if action_size < 1:
        raise UsageError(f"An action has at least one component, got {action_size}.")
    fields = [
        ("action", np.dtype("<f4"), (action_size,)),
        ("reward", np.dtype("<f4")),
        ("discount", np.dtype("<f4")),
        ("age", np.dtype("<i4")),
        ("obs", dtype.newbyteorder("<"), (math.prod(obs_shape) // frame_stack,)),
    ]
    return np.dtype(fields, align=True)

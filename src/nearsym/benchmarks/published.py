"""DrQ-v2 as it was published, written out once more as slow as the original, to compare with.

Channel-first float32 images, a padded and resampled random shift, three unfused Adams, a target
moved parameter by parameter; and a process of its own, since how ours keeps freed memory
(`training.allocator`) would otherwise serve it too.
"""

import copy
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nearsym.agents.batch import Batch

PAD = 4


@contextmanager
def published_apart(threads: int, batch_size: int, size: int) -> Iterator[Callable[[], Any]]:
    """A function that has one update made in another process and waits for it."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit our memory settings
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, threads, batch_size, size), daemon=True)
    process.start()
    theirs.close()  # so that waiting for a process that died ends with an error

    def update() -> None:
        ours.send(True)
        ours.recv()

    try:
        yield update
        ours.send(False)
    finally:
        ours.close()
        process.join(timeout=10)


def _serve(calls: Connection, threads: int, batch_size: int, size: int) -> None:
    torch.set_num_threads(threads)
    update = published_update(batch_size, size)
    while calls.recv():
        update()
        calls.send(True)


def random_batch(size: int, obs_shape: tuple[int, ...], actions: int) -> Batch:
    """Noise in the shape of what a replay gives."""
    rng = np.random.default_rng(0)

    def observations() -> Tensor:
        if len(obs_shape) == 1:
            return torch.from_numpy(rng.normal(size=(size, *obs_shape)).astype(np.float32))
        return torch.from_numpy(rng.integers(0, 256, (size, *obs_shape), dtype=np.uint8))

    action = torch.from_numpy(rng.uniform(-1, 1, (size, actions)).astype(np.float32))
    numbers = torch.rand(size), torch.full((size,), 0.97)
    return Batch(observations(), action, *numbers, observations())


def published_update(batch_size: int, size: int) -> Callable[[], Any]:
    """One update of DrQ-v2 as published, at the paper's encoder and widths."""
    encoder, actor, critic = networks = _networks(size)
    target = copy.deepcopy(critic)
    adams = [torch.optim.Adam(n.parameters(), 1e-4, foreach=False) for n in networks]
    batch = random_batch(batch_size, (size, size, 9), 1)
    first_images, next_images = (  # its replay holds them channel-first
        images.permute(0, 3, 1, 2).contiguous() for images in (batch.obs, batch.next_obs)
    )

    def encode(images: Tensor) -> Tensor:
        shifts = torch.randint(0, 2 * PAD + 1, (len(images), 2))
        return encoder(published_shift(images.float(), shifts) / 255 - 0.5)

    def update() -> None:
        x = encode(first_images)
        with torch.no_grad():
            next_x = encode(next_images)
            first, second = _values(target, next_x, _noisy(actor(next_x)))
            wanted = batch.reward[:, None] + batch.discount[:, None] * torch.min(first, second)
        first, second = _values(critic, x, batch.action)
        _step(F.mse_loss(first, wanted) + F.mse_loss(second, wanted), adams[0], adams[2])
        x = x.detach()
        first, second = _values(critic, x, _noisy(actor(x)))
        _step(-torch.min(first, second).mean(), adams[1])
        with torch.no_grad():
            for old, new in zip(target.parameters(), critic.parameters(), strict=True):
                old.copy_(0.01 * new + 0.99 * old)

    return update


def _networks(size: int) -> tuple[nn.Module, nn.Module, nn.ModuleList]:
    """Encoder, actor and critic; the critic is its trunk and two heads."""
    side = ((((size - 1) // 2 - 2) // 2 - 2) // 2) - 2
    encoder = nn.Sequential(
        *(nn.Conv2d(9, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten()),
    )

    def trunk() -> nn.Module:
        return nn.Sequential(nn.Linear(32 * side * side, 50), nn.LayerNorm(50), nn.Tanh())

    def head(inputs: int) -> nn.Module:
        widths = nn.Linear(inputs, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()
        return nn.Sequential(*widths, nn.Linear(1024, 1))

    actor = nn.Sequential(trunk(), head(50), nn.Tanh())
    return encoder, actor, nn.ModuleList([trunk(), head(51), head(51)])


def _values(critic: nn.ModuleList, x: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    joined = torch.cat([critic[0](x), action], dim=-1)
    return critic[1](joined), critic[2](joined)


def _noisy(mean: Tensor) -> Tensor:
    return (mean + (0.5 * torch.randn_like(mean)).clamp(-0.3, 0.3)).clamp(-1, 1)


def _step(loss: Tensor, *optimisers: torch.optim.Optimizer) -> None:
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()


def published_shift(images: Tensor, shifts: Tensor, pad: int = PAD) -> Tensor:
    """Replicate padding and `grid_sample` at whole-pixel offsets (rows, columns), on floats."""
    height = images.shape[2]
    padded = F.pad(images, (pad,) * 4, mode="replicate")
    full = height + 2 * pad
    line = torch.linspace(-1 + 1 / full, 1 - 1 / full, full, dtype=images.dtype)[:height]
    base = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1)
    offset = shifts.flip(1).to(images.dtype)[:, None, None] * (2 / full)  # (columns, rows): (x, y)
    return F.grid_sample(padded, base + offset, padding_mode="zeros", align_corners=False)

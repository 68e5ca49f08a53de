"""Pictures on their way to an observation: stacked, and with noise."""

import numpy as np

LARGEST_NOISE = 10.0
"""Standard deviation of noise on images in [0, 1]; at 1 there is little else left to see."""


def pushed(frames: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """The stack without its oldest frame and with a new one: [f1 f2 f3], f4 → [f2 f3 f4].

    Moving all bytes three places down shifts every pixel's channels at once; what slides in from
    the next pixel is where the new frame goes. A tenth of the time of concatenating.
    """
    stacked = np.empty_like(frames)
    stacked.reshape(-1)[:-3] = frames.reshape(-1)[3:]
    for channel in range(3):
        stacked[..., channel - 3] = frame[..., channel]
    return stacked


def with_noise(picture: np.ndarray, deviation: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise on [0, 1], clipped, before the picture becomes whole numbers again."""
    if deviation == 0:
        return picture
    noisy = rng.standard_normal(picture.shape, np.float32)
    noisy *= 255 * deviation
    noisy += picture
    return np.rint(np.clip(noisy, 0, 255, out=noisy), out=noisy).astype(np.uint8)

"""Whether and how an audit shows how far it is."""

from collections.abc import Callable, Iterable

from nearsym.training.bars import over

Progress = Callable[[Iterable[int]], Iterable[int]]
"""Episodes to the same episodes, with whatever it shows on the way; `iter` shows nothing."""


def as_progress(progress: bool | Progress) -> Progress:
    """True is a bar, False is silence, and a function is that function.

    >>> list(as_progress(False)([1, 2]))
    [1, 2]
    >>> list(as_progress(reversed)([1, 2]))
    [2, 1]
    """
    if callable(progress):
        return progress
    return _bar if progress else iter


def _bar(episodes: Iterable[int]) -> Iterable[int]:
    return over(episodes, "episodes")

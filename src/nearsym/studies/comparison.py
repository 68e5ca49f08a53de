"""What may be compared: the same seeds, up to the same frame, on the same hardware."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from nearsym.studies.results import RunResult
from nearsym.studies.study import OF_HARDWARE


def by_length(runs: Iterable[RunResult]) -> dict[int, list[RunResult]]:
    """Trained runs by their last frame: others cannot be compared at their ends."""
    found: dict[int, list[RunResult]] = {}
    for run in (run for run in runs if run.frames):
        found.setdefault(run.frames[-1], []).append(run)
    return dict(sorted(found.items()))


def timed_alike(runs: Iterable[RunResult]) -> list[RunResult]:
    """The runs whose times can be compared: of those that were timed, the largest set of runs on
    the same kind of processor, in the same precision. Older results, which do not say, are one
    kind."""
    found: dict[tuple[str | None, ...], list[RunResult]] = {}
    for run in (run for run in runs if run.seconds):
        known = ("processor", *OF_HARDWARE) if "processor" in run.versions else ()
        found.setdefault(tuple(map(run.versions.get, known)), []).append(run)
    return max(found.values(), key=_shared, default=[])


def _shared(runs: Sequence[RunResult]) -> tuple[int, int, int]:
    """How much there is to compare: models, seeds that all of them have, runs."""
    seeds: dict[str, set[int]] = {}
    for run in runs:
        seeds.setdefault(run.model, set()).add(run.seed)
    return len(seeds), len(set.intersection(*seeds.values())), len(runs)


def comparable(*groups: Iterable[RunResult]) -> list[list[RunResult]]:
    """The runs of several arms up to the last frame that all those have reached whose seeds every
    arm has; without those that did not reach it.

    A run of less than half the usual length of its arm would shorten all others: it is left out.
    """
    whole = _whole([[run for run in runs if run.frames] for runs in groups])
    end = min((run.frames[-1] for runs in whole for run in runs), default=0)
    cut = [[_until(run, end) for run in runs] for runs in whole]
    return _paired([[run for run in runs if run.frames] for runs in cut])


def equally_long(*groups: Iterable[RunResult]) -> list[list[RunResult]]:
    """Of several arms, the runs with the seeds that all of them have trained equally long; without
    those of less than half the usual length."""
    each = _whole([list(runs) for runs in groups])
    ends = [{(run.seed, *run.frames[-1:]) for run in runs} for runs in each]
    both = set.intersection(*ends) if ends else set()
    return [[run for run in runs if (run.seed, *run.frames[-1:]) in both] for runs in each]


def _whole(groups: Sequence[Sequence[RunResult]]) -> list[list[RunResult]]:
    """The runs with a partner in every group; what has none says nothing about usual lengths."""
    return _paired([not_far_too_short(runs) for runs in _paired(groups)])


def _paired(groups: Sequence[Sequence[RunResult]]) -> list[list[RunResult]]:
    """The runs with the seeds that all groups have."""
    seeds = set.intersection(*({run.seed for run in runs} for runs in groups)) if groups else set()
    return [[run for run in runs if run.seed in seeds] for runs in groups]


def not_far_too_short(runs: Sequence[RunResult]) -> list[RunResult]:
    """Without those of less than half the usual length, which were probably stopped."""
    lengths = [run.frames[-1] if run.frames else 0 for run in runs]
    usual = median(lengths) if lengths else 0
    return [run for run, length in zip(runs, lengths, strict=True) if length >= usual / 2]


def _until(run: RunResult, end: int) -> RunResult:
    count = sum(frames <= end for frames in run.frames)
    if count == len(run.frames):
        return run
    relaxed = {layer: weights[:count] for layer, weights in run.relaxed.items() if count}
    seconds = run.seconds * (run.frames[count - 1] if count else 0) / run.frames[-1]
    shorter: dict[str, Any] = {"frames": run.frames[:count], "returns": run.returns[:count]}
    return replace(run, **shorter, relaxed=relaxed, seconds=seconds)

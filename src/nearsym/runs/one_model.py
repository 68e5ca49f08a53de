"""Which runs belong together: those of one model, that differ in nothing but their seeds."""

from collections.abc import Sequence
from itertools import combinations
from os import PathLike
from typing import Any

from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig, to_plain
from nearsym.runs.run import Run, StrPath

SECTIONS = ("task", "algorithm", "network", "training")
WITHOUT_EFFECT = ("training.replay", "training.checkpoint_every")
"""Settings in which runs of one model may differ, since no result depends on them. Nor are threads,
device and precision asked for: the seeds of one model may be spread over machines."""


def runs_of_one_model(runs: Run | StrPath | Sequence[Run | StrPath]) -> list[Run]:
    """Run folders, opened, if they are of one task, variant, agent and model with equal settings
    and different seeds."""
    given = [runs] if isinstance(runs, str | PathLike | Run) else list(runs)
    opened = [run if isinstance(run, Run) else Run(run) for run in given]
    if not opened:
        raise UsageError("`runs` must hold at least one run folder, got none.")
    for one, other in combinations(opened, 2):
        _refuse_strangers(one, other)
    return opened


def shared_by(config: RunConfig) -> dict[str, Any]:
    """What says which model it is."""
    task, model = config.task, config.network.model
    return {"task": task.name, "variant": task.variant, "agent": config.agent, "model": model}


def _refuse_strangers(one: Run, other: Run) -> None:
    mine, others = _settings(one.config), _settings(other.config)
    for name, value in mine.items():
        if value != others.get(name):
            raise UsageError(
                f"The runs must be of one model, with nothing but their seeds different: {name} "
                f"is {value} in {one.path} and {others.get(name)} in {other.path}."
            )
    if one.config.seed == other.config.seed:
        raise UsageError(
            f"{one.path} and {other.path} both have the seed {one.config.seed}: a seed counts "
            "once. Leave one of them out."
        )


def _settings(config: RunConfig) -> dict[str, Any]:
    """Everything that runs of one model share, the most telling first."""
    plain = to_plain(config)
    single = {f"{s}.{name}": value for s in SECTIONS for name, value in plain[s].items()}
    return shared_by(config) | {n: v for n, v in single.items() if n not in WITHOUT_EFFECT}

"""What a study keeps of a run: a line of JSON, enough for every table, figure and claim."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError
from nearsym.studies.result_check import check_result
from nearsym.training import atomic
from nearsym.training.untrusted import parse_json, read_named_text


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """One finished run: what it was, what it measured, what it cost.

    >>> run = RunResult(
    ...     key="0123456789abcdef", task="craft", variant="tilt=75", obs="state", agent="sac",
    ...     model="approx", seed=0, preset="laptop", frames=[250, 500], returns=[[1.0], [3.0]],
    ... )
    >>> run.curve()
    [1.0, 3.0]
    """

    key: str
    """`runs.identity.digest` of its configuration."""
    task: str
    variant: str | None
    """NAME, NAME=STRENGTH or None for the original."""
    obs: str | None
    agent: str
    model: str
    seed: int
    preset: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Dotted names of settings that are not the preset's, and their values."""
    frames: list[int]
    """Where it was evaluated in training."""
    returns: list[list[float]]
    """The return of each episode of each of these evaluations."""
    relaxed: dict[str, list[Any]] = field(default_factory=dict)
    """Relaxed weights by layer: for each evaluation a list [filter][element]."""
    elements: list[str] = field(default_factory=list)
    """Names of the group elements, in their order; empty where there is no finite group."""
    parameters: dict[str, int] = field(default_factory=dict)
    """Learned numbers of encoder, actor, critic, and their total."""
    seconds: float = 0.0
    """How long training took: processor time, or with a GPU the time on the clock."""
    evaluations: dict[str, list[float]] = field(default_factory=dict)
    """Returns of the best checkpoint's episodes after training, by name: `clean`, `noise=0.06`."""
    details: dict[str, Any] = field(default_factory=dict)
    """What else the task has to tell of the best checkpoint, such as a portfolio's figures."""
    versions: dict[str, str] = field(default_factory=dict)
    """What the numbers may depend on."""

    def curve(self) -> list[float]:
        """The mean return of each evaluation in training."""
        return [sum(episodes) / len(episodes) for episodes in self.returns]

    @property
    def world(self) -> tuple[str, str | None, str | None]:
        """Task, variant and form of observation: where models are compared with each other."""
        return self.task, self.variant, self.obs


_NEEDED = ("key", "task", "variant", "obs", "agent", "model", "seed", "preset", "frames", "returns")


def write_results(path: Path, results: Iterable[RunResult]) -> None:
    """All results as one file, a line each, in an order that does not depend on when they came."""
    ordered = sorted(results, key=lambda run: (*map(str, run.world), run.model, run.seed, run.key))
    lines = [json.dumps(asdict(run), ensure_ascii=False) + "\n" for run in ordered]
    with atomic.explain_errors("Writing the results", path.parent):
        atomic.replace(path, "".join(lines).encode())


def read_results(path: str | PathLike[str]) -> list[RunResult]:
    """The inverse of `write_results`; a damaged line is named."""
    try:
        text = read_named_text(Path(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    lines = text.removesuffix("\n").split("\n") if text else []  # JSON has other ends of lines too
    return [_read(line, f"{path}, line {n}") for n, line in enumerate(lines, 1)]


def _read(line: str, where: str) -> RunResult:
    known = {f.name for f in fields(RunResult)}
    plain = parse_json(line, where, "is not the result of a run")
    if not isinstance(plain, dict):
        raise UsageError(f"{where} is not the result of a run: it is no JSON object.")
    missing = [name for name in _NEEDED if name not in plain]
    if missing:
        raise UsageError(f"{where} is not the result of a run: it has no {missing[0]!r}.")
    try:
        result = RunResult(**{name: value for name, value in plain.items() if name in known})
        check_result(vars(result))
    except (ValueError, TypeError) as error:
        raise UsageError(f"{where} is not the result of a run: {error}.") from error
    return result

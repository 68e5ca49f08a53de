"""Where the runs of all studies lie, and what there is of a run already.

    OUT/pool/NAME-DIGEST/       a run folder; studies that want the same run share it
        result-….jsonl          what a study keeps of it, for a length and an evaluation
    OUT/pool/locks/…            who works on which run

A run may grow: a study that wants it longer resumes it, and what shorter ones kept of it stays.
Where a run has grown past what a study wants, and nobody kept anything at that length, the study
makes its own, shorter one beside it: a best checkpoint found later would not be the same.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig
from nearsym.runs.folder import read_config, read_summary
from nearsym.runs.identity import digest
from nearsym.studies.study import Evaluation
from nearsym.training.untrusted import refuse_irregular

LONGEST_NAME = 120
TAIL = 1 << 16
"""Bytes at the end of a log in which its last evaluation is looked for."""

State = Literal["done", "trained", "begun", "new"]


@dataclass(frozen=True)
class Place:
    """Where a run of some length lies in a pool."""

    pool: Path
    name: str
    frames: int

    @property
    def folder(self) -> Path:
        """Its folder, whether or not it is there."""
        usual = self.pool / self.name
        return self._own if _has_grown_past(usual, self.frames) else usual

    @property
    def lock_folder(self) -> Path:
        """What is locked while somebody works on it; it is there before the run is."""
        return self.pool / "locks" / self.name

    def result_file(self, evaluation: Evaluation) -> Path | None:
        """What a study has kept of it, if it has."""
        name = self.result_name(evaluation)
        places = (self.pool / self.name, self._own)
        return next((folder / name for folder in places if (folder / name).is_file()), None)

    def result_name(self, evaluation: Evaluation) -> str:
        """What the file with its result is called: one line, as `write_results` writes it."""
        noise = "" if evaluation.noise is None else f"-noise-{evaluation.noise}"
        return f"result-{self.frames}-frames-{evaluation.episodes}-episodes{noise}.jsonl"

    def state(self, evaluation: Evaluation) -> State:
        """How far it is for a study."""
        if self.result_file(evaluation) is not None:
            return "done"
        folder = self.folder
        if not (folder / "config.json").is_file():
            return "new"
        summary = read_summary(folder)
        return "trained" if summary and summary["frames"] >= self.frames else "begun"

    def stands_at(self) -> int:
        """The frames that are in its log so far."""
        last = last_row(self.folder)
        return 0 if last is None else last["frames"]

    @property
    def _own(self) -> Path:
        return self.pool / f"{self.name}-{self.frames}"


def place_of(config: RunConfig, pool: Path) -> Place:
    """The place of a run: what decides its numbers, and before it what people look for."""
    task = config.task
    named = [task.name, task.variant, getattr(task, "obs", None), config.network.model]
    named += [config.preset, f"seed{config.seed}"]
    parts = [re.sub(r"[^\w.=+-]+", "_", part) for part in named if part is not None]
    readable = "-".join(parts)[:LONGEST_NAME]
    return Place(pool, f"{readable}-{digest(config)}", config.training.frames)


def _has_grown_past(folder: Path, frames: int) -> bool:
    """Whether a run stands at more frames than wanted. Only one that was asked for more does: the
    last step of a run may end a little after its last frame."""
    try:
        if read_config(folder).training.frames <= frames:
            return False
    except UsageError:  # not there, or damaged, which whoever resumes it will say
        return False
    last = last_row(folder)
    return last is not None and last["frames"] > frames


def last_row(folder: Path, entry: str = "frames") -> dict[str, Any] | None:
    """The last line of a run's log that has an entry, read from the end; None if there is none."""
    path = folder / "metrics.jsonl"
    try:
        refuse_irregular(path)
        with path.open("rb") as file:
            file.seek(max(file.seek(0, 2) - TAIL, 0))
            lines = file.read().split(b"\n")[:-1]
    except (OSError, UsageError):  # not there yet, not any more, or no file: who resumes will say
        return None
    rows = (_row(line) for line in reversed(lines))
    return next((row for row in rows if entry in row), None)


def _row(line: bytes) -> dict[str, Any]:
    """What a line says; nothing if it is no line of a log, as the first of a part may be."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    told = isinstance(found, dict) and type(found.get("frames")) is int
    return found if told else {}


def saved_frames(folder: Path) -> int:
    """The frames of a run's newest checkpoint; −1 where there is none."""
    found = [path.stem.rpartition("-")[2] for path in folder.glob("checkpoints/checkpoint-*.ckpt")]
    return max((int(frames) for frames in found if frames.isdecimal()), default=-1)

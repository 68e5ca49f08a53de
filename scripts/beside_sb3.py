"""nearsym's SAC beside that of Stable-Baselines3, both at their defaults, at equal steps.

    python scripts/beside_sb3.py train      what is missing, then the table
    python scripts/beside_sb3.py table      fill the table of docs/robots.md

Every result is a row of docs/results/beside-sb3.csv, written when its run ends; what is there is
not run again. The policies are played in Gymnasium's own environments, deterministically, from the
same ten starts. Speed is in steps of training for each second of processor time on one thread,
since others may use the machine too.
"""

import argparse
import csv
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

import nearsym
from nearsym.groups import Symmetry, dihedral
from nearsym.measures.intervals import student_interval
from nearsym.runs.policy import own_action
from nearsym.training import Callback

RESULTS, PAGE = Path("docs/results/beside-sb3.csv"), Path("docs/robots.md")
BLOCK = re.compile(r"(<!-- table: beside-sb3 -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMNS = ("task", "agent", "model", "seed", "steps", "return", "steps_per_second")
SB3 = ("Stable-Baselines3", "")
AGENTS = (SB3, ("nearsym", "none"), ("nearsym", "approx"), ("nearsym", "exact"))
EPISODES = 10
FIRST_START = 1_000_000
Row = dict[str, Any]

_MIRROR = dihedral(1)
_PENDULUM = Symmetry(
    _MIRROR.diagonal({"mirror_x": [1, -1, -1]}, "cosine, sine, speed"),
    _MIRROR.diagonal({"mirror_x": [-1]}, "torque"),
)
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "Pendulum-v1": ("Pendulum-v1", {"symmetry": _PENDULUM}),
    "Swimmer-v5": ("swimmer", {}),
    "Walker2d-v5": ("walker2d", {}),
}
"""Gymnasium's id; nearsym's name and options."""


class Comparison(NamedTuple):
    """A task, how long agents learn it, and with which seeds."""

    task: str
    steps: int
    seeds: range


COMPARISONS = (
    Comparison("Pendulum-v1", 4_000, range(20, 25)),
    Comparison("Swimmer-v5", 4_000, range(20, 25)),
    Comparison("Walker2d-v5", 5_000, range(20, 25)),
    Comparison("Walker2d-v5", 20_000, range(30, 35)),
)
"""Not the seeds of earlier runs, which are in beside-sb3-tried.csv: 0 to 5 to look for better
settings, 10 to 12 in a first comparison."""


class Stopwatch(Callback):
    """Processor time from the first step of training to the last, without evaluations."""

    def on_start(self, progress: Any) -> None:
        self.first = self.last = time.process_time()

    def on_step(self, progress: Any) -> None:
        self.last = time.process_time()

    @property
    def seconds(self) -> float:
        return self.last - self.first


def ours(task: str, steps: int, model: str, seed: int) -> tuple[Callable[..., Any], float]:
    """A policy in the environment's units, and the seconds that training took."""
    name, options = TASKS[task]
    watch, once = Stopwatch(), {"eval_every": steps, "eval_episodes": 1}
    with tempfile.TemporaryDirectory() as folder:
        run = nearsym.train(
            name,
            model=model,
            frames=steps,
            seed=seed,
            threads=1,
            precision="fp32",
            out=Path(folder) / "run",
            training=once,
            callbacks=[watch],
            **options,
        )
        agent, env = run.load_agent("last"), run.task.make("test")
    if task.startswith("Pendulum"):
        return lambda obs: own_action(agent, env, obs), watch.seconds
    high = gymnasium.make(task).action_space.high  # the robots take actions in [−1, 1]
    return lambda obs: high * own_action(agent, env, obs), watch.seconds


def theirs(task: str, steps: int, model: str, seed: int) -> tuple[Callable[..., Any], float]:
    """The same of Stable-Baselines3."""
    from stable_baselines3 import SAC

    agent = SAC("MlpPolicy", gymnasium.make(task), seed=seed, device="cpu")
    started = time.process_time()
    agent.learn(steps)
    return lambda obs: agent.predict(obs, deterministic=True)[0], time.process_time() - started


def returns(task: str, policy: Callable[..., Any]) -> list[float]:
    """Ten whole episodes."""
    env, found = gymnasium.make(task), []
    for episode in range(EPISODES):
        (obs, _), total, over = env.reset(seed=FIRST_START + episode), 0.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(policy(obs))
            total, over = total + float(reward), terminated or truncated
        found.append(total)
    return found


def train(agents: Sequence[tuple[str, str]]) -> None:
    """Run what is missing, seed by seed, so that every agent is seen early."""
    torch.set_num_threads(1)
    for task, steps, seeds in COMPARISONS:
        for (agent, model), seed in ((a, s) for s in seeds for a in agents):
            run = {"task": task, "agent": agent, "model": model, "seed": str(seed)}
            run["steps"] = str(steps)
            if any(run.items() <= row.items() for row in read()):
                continue
            learn = theirs if (agent, model) == SB3 else ours
            policy, seconds = learn(task, steps, model, seed)
            mean = float(np.mean(returns(task, policy)))
            speed = f"{steps / seconds:.0f}"
            append(run | {"return": f"{mean:.1f}", "steps_per_second": speed})


def read() -> list[Row]:
    """The rows so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(row: Row) -> None:
    new = not RESULTS.exists()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def table() -> str:
    """Markdown: the return of every seed, their mean, the difference from Stable-Baselines3 by
    seeds with its interval, and the median speed."""
    head = "| task | steps | agent | returns of the seeds | mean | minus SB3 (95 %) | steps/s |"
    lines, rows = [head, "|" + "---|" * 7], read()
    for task, steps, _ in COMPARISONS:
        here = [row for row in rows if (row["task"], row["steps"]) == (task, str(steps))]
        others = returns_by_seed(here, SB3)
        for agent, model in AGENTS:
            scores = returns_by_seed(here, (agent, model))
            if scores:
                own = [row for row in here if by(row) == (agent, model)]
                speed = np.median([float(row["steps_per_second"]) for row in own])
                shown = ", ".join(f"{score:.0f}" for score in scores.values())
                beside = "" if (agent, model) == SB3 else difference(scores, others)
                name = f"{agent}, {model}" if model else agent
                mean = f"{np.mean(list(scores.values())):.0f}"
                cells = (task, f"{steps:,}", name, shown, mean, beside, f"{speed:.0f}")
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by(row: Row) -> tuple[str, str]:
    return row["agent"], row["model"]


def returns_by_seed(rows: list[Row], agent: tuple[str, str]) -> dict[int, float]:
    """In the order of the seeds."""
    found = {int(row["seed"]): float(row["return"]) for row in rows if by(row) == agent}
    return dict(sorted(found.items()))


def difference(own: dict[int, float], others: dict[int, float]) -> str:
    """The mean over the seeds that both have, and Student's interval of it."""
    pairs = [own[seed] - others[seed] for seed in own if seed in others]
    if not pairs:
        return ""
    mean, interval = student_interval(pairs)
    if interval is None:
        return f"{mean:+.0f}"
    return f"{mean:+.0f} ± {interval[1] - mean:.0f}"


def fill() -> None:
    """Put the table into the page."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(BLOCK.sub(lambda old: f"{old[1]}\n{table()}\n\n{old[2]}", page), "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("train", "table"))
    parser.add_argument("--models", nargs="*", help="nearsym's models (default: all)")
    asked = parser.parse_args()
    if asked.what == "train":
        train([a for a in AGENTS if a == SB3 or not asked.models or a[1] in asked.models])
    fill()

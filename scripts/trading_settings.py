"""Fill the table of settings in docs/trading.md from docs/results/trading-settings.csv.

    nearsym study scripts/trading_settings.toml --workers 1
    python scripts/trading_settings.py studies/trading_settings-laptop/results.jsonl
    python scripts/trading_settings.py                      the table alone, from what is there

A run counts by what its mean policy makes of the validation part, from 1.0 mm: the mean over the
evaluations in the second half of training, so that no lucky checkpoint is picked.
"""

import csv
import re
import sys
from pathlib import Path

import numpy as np

from nearsym.studies.results import RunResult, read_results
from nearsym.studies.statistics import mean_over_seeds
from nearsym.tasks.trading.baselines import baseline_tracks
from nearsym.tasks.trading.prices import load_prices
from nearsym.tasks.trading.rewards import market_returns
from nearsym.tasks.trading.split import PAPER_SPLIT

DOCS = Path(__file__).parents[1] / "docs"
PAGE, KEPT = DOCS / "trading.md", DOCS / "results" / "trading-settings.csv"
BLOCK = re.compile(r"(<!-- settings -->\n).*?(<!-- end -->)", re.DOTALL)
FIELDS = ("settings", "model", "seed", "frames", "value")


def value_of(run: RunResult) -> float:
    """The final value in mm, mean of the evaluations in the second half of training."""
    gained = np.array(run.curve()) / 100
    gained = gained[len(gained) // 2 :]
    if "task.reward" not in run.settings:  # the gain over the starting cash
        return float(np.mean(1 + gained))
    table = load_prices()
    market = market_returns(table)[PAPER_SPLIT.days(table, "validation")][1:].sum()
    return float(np.exp(gained + market).mean())


def keep(results: list[RunResult]) -> None:
    """Write a line for each run."""
    rows = [
        {
            "settings": "steady" if "task.reward" in run.settings else "paper",
            "model": run.model if run.model == "none" else f"{run.model} T",
            "seed": run.seed,
            "frames": run.frames[-1],
            "value": f"{value_of(run):.4f}",
        }
        for run in results
    ]
    rows.sort(key=lambda row: tuple(str(row[name]) for name in FIELDS))
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table() -> str:
    """Final values by settings and model, beside holding everything."""
    with KEPT.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = ["| settings | model | seeds | final value (mm) | spread of seeds |"]
    lines.append("|---|---|---:|---:|---|")
    for settings, model in dict.fromkeys((row["settings"], row["model"]) for row in rows):
        own = [row for row in rows if (row["settings"], row["model"]) == (settings, model)]
        found = {int(row["seed"]): float(row["value"]) for row in own}
        measured = mean_over_seeds(found)
        shown = f"{measured.value:.3f}"
        if measured.ci95 is not None:
            shown += f" ± {measured.ci95[1] - measured.value:.3f}"
        spread = f"{min(found.values()):.3f} to {max(found.values()):.3f}"
        lines.append(f"| {settings} | {model} | {len(found)} | {shown} | {spread} |")
    lines.append(f"| | uniform holding | | {held():.3f} | |")
    return "\n".join(lines)


def held() -> float:
    """What the same money in each ticker becomes in the validation part."""
    prices = load_prices()
    tracks = baseline_tracks(prices, PAPER_SPLIT, PAPER_SPLIT.days(prices, "validation"))
    (uniform,) = (track for track in tracks if track.name == "uniform")
    return float(uniform.value[-1] / uniform.value[0])


def filled(page: str) -> str:
    """The page with its table as the results have it."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{table()}\n\n{found[2]}", page)


def main(words: list[str]) -> None:
    if words:
        keep(read_results(Path(words[0])))
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Fill the tables and figures of docs/evidence.md and docs/trading.md from docs/results/*.jsonl,
and draw the README's figure.

    python scripts/evidence.py                              what the pages show, from what is there
    python scripts/evidence.py keep NAME results.jsonl      first put results of a study there,
                                                            beside those that NAME has already

Results are kept with five digits and the ε that audits have measured, portfolios without their
days but for their daily returns over uniform holding, and data by the name of its file.
"""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from nearsym.studies.builtin import STUDIES, builtin_study
from nearsym.studies.charts.all import charts_of
from nearsym.studies.charts.chart import Chart
from nearsym.studies.claims.judge import judge
from nearsym.studies.execute import jobs_of
from nearsym.studies.figures import draw_charts
from nearsym.studies.job import Job
from nearsym.studies.known import known_results
from nearsym.studies.luck import EXCESS, excess
from nearsym.studies.plan import plan
from nearsym.studies.pool import Place
from nearsym.studies.portfolio_check import DAILY
from nearsym.studies.rates import Rates
from nearsym.studies.regret import LEAST
from nearsym.studies.results import RunResult, read_results, write_results
from nearsym.studies.selection import (
    TRADING,
    by_arm,
    by_world,
    is_planted,
    model_order,
    unique,
)
from nearsym.studies.sweeps import with_audits
from nearsym.studies.tables.all import tables_of
from nearsym.studies.tables.table import Cell, Table
from nearsym.studies.tables.verdicts import verdicts
from nearsym.tasks.control.domains import DOMAINS

DOCS = Path(__file__).parents[1] / "docs"
PAGE, TRADES = DOCS / "evidence.md", DOCS / "trading.md"
DAYS = (*DAILY, "dates", "weights", "baselines")
BLOCK = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURES = {
    "sweeps": ("sweeps", "craft"),
    "regret": ("regret", "vectors"),
    "sweeps-cup": ("sweeps", "ball_in_cup-catch"),
    "sweeps-cartpole": ("sweeps", "cartpole-swingup"),
    "curves": ("curves", "control"),
    "weights": ("weights", "control"),
    "pixels": ("curves", "pixels"),
    "pixels-weights": ("weights", "pixels"),
}
"""Pictures docs/images/evidence-NAME.png: which charts, and of which runs."""
SHOWN = ("none", "exact", "approx")
"""Models of the figure in the README."""
ASKED = "exact − none"
"""The one difference without approx that the page shows."""
EARLY, RELAXED_FROM = "approx, from the start", "network.relaxed_from"
OF_TRADING = "trading-"
OF_DAYS = ("rollouts", f"{OF_TRADING}weights")
"""Charts of trading, docs/images/KEPT-NAME.png. They need the days, which are not kept, so they
show the file that is being kept: give it all seeds."""
LEFT = ("study", "task", "observations", "models", "runs", "hours")
"""Columns of the table of what was not run."""
DIGITS, OF_EXCESS = 5, 3
"""Significant digits of what is kept, and of daily returns, which are many."""


def kept_results(folder: Path = DOCS / "results") -> list[RunResult]:
    """All results that the project keeps."""
    return [run for path in sorted(folder.glob("*.jsonl")) for run in read_results(path)]


def filled(page: str, results: list[RunResult], every: list[RunResult]) -> str:
    """The page with its tables as the results have them; `control: end` is the table `end` of the
    control tasks alone. What was run, and what it says of claims, is that of all results."""
    tables = {table.name: table for table in tables_of(results)}
    for which in ("craft", "control", "vectors", "pixels"):
        tables |= {f"{which}: {t.name}": _narrow(t) for t in tables_of(chosen(results, which))}
    begun = tables_of(with_early_start(chosen(results, "vectors")), ["regret"])
    tables |= {f"early start: {table.name}": table for table in begun}
    tables |= {table.name: table for table in tables_of(every, ["spent"])}
    tables["claims"] = verdicts(judge(every))
    tables["left"] = left_to_run(every)
    return BLOCK.sub(lambda found: f"{found[1]}\n{tables[found[2]].markdown()}\n\n{found[3]}", page)


def _narrow(table: Table) -> Table:
    """Of the differences of all pairs of models those with approx, and the question of symmetry."""
    if not table.name.endswith("differences"):
        return table
    kept = [c for c in table.columns if " − " not in c or c.startswith(("approx − ", ASKED))]
    return replace(table, columns=tuple(kept))


def left_to_run(results: list[RunResult]) -> Table:
    """The runs of built-in studies that no result answers yet; one that several studies share is
    counted where it comes first."""
    missing: dict[tuple[str, str, str], list[Job]] = {}
    listed: set[Place] = set()
    for study in (study for study in map(builtin_study, STUDIES) if study.trains):
        planned = plan(replace(study, trains=False))  # no networks have to be built for that
        jobs = jobs_of(study, planned, Path())
        given = known_results(study, jobs, results)
        for job in (job for job in jobs if job.name not in given and job.place not in listed):
            task = job.config.task
            kind = study.name, task.name, getattr(task, "obs", None) or ""
            missing.setdefault(kind, []).append(job)
            listed.add(job.place)
    rates = _rates(results)
    rows = [_left(*kind, jobs, rates) for kind, jobs in missing.items()]
    about = "Runs that the built-in studies lack, each where it comes first, with the core-hours "
    about += "that they would take. Laptop."
    return Table("left", about, LEFT, tuple(rows))


def _left(study: str, task: str, obs: str, jobs: list[Job], rates: Rates) -> dict[str, Cell]:
    seconds = [j.place.frames / rates.rate(j.config).frames_per_second for j in jobs]
    models = sorted({job.config.network.model for job in jobs}, key=model_order)
    cells = (study, task, obs, ", ".join(models), len(jobs), sum(seconds) / 3600)
    return dict(zip(LEFT, cells, strict=True))


def _rates(results: list[RunResult]) -> Rates:
    """How fast the runs were whose results are kept."""
    found: dict[tuple[str, ...], list[float]] = {}
    for run in (run for run in results if run.seconds and run.frames):
        kind = (run.preset, run.agent, run.task, str(run.obs), "cpu", run.model)
        found.setdefault(kind, []).append(run.seconds / run.frames[-1])
    return Rates(found)


def of_page(page: Path, results: list[RunResult]) -> list[RunResult]:
    """What a page is about: trading has its own. A model with one or two seeds in a world waits for
    more: only claims and the table of what was run know of it."""
    mine = [run for run in results if (run.task == TRADING) == (page == TRADES)]
    arms = [arm for runs in by_world(mine).values() for arm in by_arm(runs).values()]
    shown = {id(run) for arm in arms if len({run.seed for run in arm}) >= LEAST for run in arm}
    return [run for run in mine if id(run) in shown]


def chosen(results: list[RunResult], which: str) -> list[RunResult]:
    """The results of the craft, those of the control tasks from state vectors, of one of these
    tasks, all of these, or those of the control tasks from pixels."""
    if which in DOMAINS:
        return [run for run in chosen(results, "control") if run.task == which]
    kinds = {None: "craft", "state": "control", "pixels": "pixels"}
    wanted = ("craft", "control") if which == "vectors" else (which,)
    return [r for r in results if kinds[r.obs if r.task in DOMAINS else None] in wanted]


def with_early_start(results: list[RunResult]) -> list[RunResult]:
    """The models of the README, and approx with relaxed weights that learn from the start as one
    more: an option on the control tasks, the usual way on the craft."""
    plain = [run for run in results if run.model in SHOWN and not run.settings]
    asked = [r for r in results if r.model == "approx" and r.settings == {RELAXED_FROM: 0}]
    usual = [run for run in plain if run.model == "approx" and run.task not in DOMAINS]
    return plain + [replace(run, model=EARLY, settings={}) for run in asked + usual]


def keep(name: str, source: Path) -> None:
    """Put results into the docs, rounded."""
    target = DOCS / "results" / f"{name}.jsonl"
    before = read_results(target) if target.exists() else []
    # The original of a sweep may be among those that were there before.
    every = with_audits(unique([*read_results(source), *before]))
    write_results(target, [_rounded(run) for run in every])
    for kind in OF_DAYS:
        charts = charts_of(read_results(source), [kind])
        if charts:
            save(charts, f"{name}-{kind.removeprefix(OF_TRADING)}")


def worth(results: list[RunResult]) -> list[Chart]:
    """The README's figure: the craft over its angles, and regret over all worlds."""
    shown = [run for run in results if run.model in SHOWN]
    returns, *_ = charts_of(chosen(shown, "craft"), ["sweeps"])
    about = "At 0° the craft is exactly symmetric."
    named = replace(returns, x_label="angle of the craft's thrusters, degrees", about=about)
    return [named, *charts_of(chosen(shown, "vectors"), ["regret"])]


def save(charts: list[Chart], name: str) -> None:
    """Draw charts as a picture of the docs, in 256 colours: a third of the size."""
    drawn = io.BytesIO()
    draw_charts(charts).savefig(drawn, dpi=150)
    picture = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(DOCS / "images" / f"{name}.png", optimize=True)


def _rounded(run: RunResult) -> RunResult:
    details = {name: value for name, value in run.details.items() if name not in DAYS}
    settings = {k: v if k != "task.data" else Path(v).name for k, v in run.settings.items()}
    if "null" in details:
        rows = details["null"].items()
        details["null"] = {n: {k: v for k, v in row.items() if k != "band"} for n, row in rows}
    fields = {name: getattr(run, name) for name in ("returns", "relaxed", "evaluations")}
    short = {name: _short(value) for name, value in (fields | {"details": details}).items()}
    over_holding = None if is_planted(run) else excess(run)  # their table has no use for it
    if over_holding is not None:
        short["details"][EXCESS] = _short(over_holding.tolist(), OF_EXCESS)
    return replace(run, settings=settings, **short)


def _short(value: Any, digits: int = DIGITS) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {name: _short(inner, digits) for name, inner in value.items()}
    return [_short(inner, digits) for inner in value] if isinstance(value, list | tuple) else value


def main(words: list[str]) -> None:
    match words:
        case []:
            pass
        case ["keep", name, source]:
            keep(name, Path(source))
        case _:
            sys.exit(__doc__)
    results = kept_results()
    for page in (PAGE, TRADES):
        mine = of_page(page, results)
        page.write_text(filled(page.read_text("utf-8"), mine, results), "utf-8")
    results = of_page(PAGE, results)
    few = [run for run in results if not run.settings or run.settings == {RELAXED_FROM: 0}]
    for name, (kind, which) in FIGURES.items():
        shown = few if kind == "curves" else results
        save(charts_of(chosen(shown, which), [kind]), f"evidence-{name}")
    save(worth(results), "worth")


if __name__ == "__main__":
    main(sys.argv[1:])

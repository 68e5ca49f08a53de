"""The page about a study, from results to one HTML file."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from nearsym.errors import UsageError
from nearsym.studies.charts.all import CHARTS
from nearsym.studies.charts.chart import Chart
from nearsym.studies.claims.claim import Judgement
from nearsym.studies.claims.judge import judge
from nearsym.studies.report.markup import (
    claims_table,
    data_table,
    definitions,
    element,
    section,
    text,
)
from nearsym.studies.result_check import is_text
from nearsym.studies.results import RunResult, read_results
from nearsym.studies.selection import by_world, model_order, unique
from nearsym.studies.tables.all import TABLES
from nearsym.studies.tables.table import Table
from nearsym.studies.tables.verdicts import numbers
from nearsym.training import atomic
from nearsym.training.untrusted import read_object

SECTIONS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "regret": ("Regret", ("regret", "sweeps"), ("regret", "regret-compared", "sweeps")),
    "curves": ("Learning curves", ("curves", "profiles"), ("end", "area", "differences")),
    "final": ("Tests of the best checkpoint", (), ("final", "noise", "noise-trained")),
    "trading": ("Trading", ("rollouts", "trading", "trading-weights"), ("trading", "months")),
    "planted": ("Planted signals", ("planted",), ("planted",)),
    "weights": ("Relaxed weights", ("weights",), ("spread",)),
    "settings": ("Settings", (), ("rpp-tau", "settings")),
    "all": ("All worlds together", (), ("aggregates",)),
    "time": ("Time and size", ("wall-clock",), ("wall-clock", "parameters", "spent")),
}
"""Title, charts and tables of each part of the page."""


TITLES = {
    "end": "Return at the end",
    "area": "Area under the curve",
    "differences": "Differences at the end",
    "area differences": "Differences of areas",
    "final": "Best checkpoint in fresh episodes",
    "noise": "Share kept under noise at test time",
    "noise-trained": "Trained with noise",
    "spread": "Spread by layer",
    "rpp-tau": "By τ, the speed of the target critic",
    "settings": "Runs that differ in their settings",
    "aggregates": "Interquartile mean",
    "improvement": "Probability of improvement",
    "wall-clock": "Time per frame",
    "time to return": "Time to a given return",
    "spent": "Hours of each task",
    "trading": "Portfolios",
    "trading months": "Monthly returns",
    "planted": "How much of a planted signal is found",
    "planted differences": "How much more one model finds than another",
}
"""What tables are called; others by their names."""


def read_sources(sources: Iterable[str | PathLike[str]]) -> list[RunResult]:
    """Results from files, and from the files named *.jsonl in folders, each run once."""
    return unique(read_all(sources))


def read_all(sources: Iterable[str | PathLike[str]]) -> list[RunResult]:
    """The same, with all that the files have of a run: a shorter result beside a longer one."""
    paths = [path for source in sources for path in _files(Path(source))]
    return [run for path in paths for run in read_results(path)]


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    found = sorted(source.glob("*.jsonl"))
    if not found:
        raise UsageError(f"{source} has no results: expected files named *.jsonl in it.")
    return found


def title_of(sources: Sequence[str | PathLike[str]]) -> str:
    """What a study calls itself, or the name of its folder or file.

    >>> title_of(["studies/curves-laptop"])
    'curves-laptop'
    """
    first = Path(sources[0])
    about = first / "study.json"
    if len(sources) == 1 and about.is_file():
        try:
            found = read_object(about)
            names = found["title"] or found["study"], found["scale"]
            if all(map(is_text, names)):
                return f"{names[0]} ({names[1]})"
        except (OSError, UsageError, KeyError):
            pass  # the results are what counts
    return ", ".join(Path(source).stem for source in sources)


def write_report(
    results: Iterable[RunResult], path: str | PathLike[str], *, title: str = "Study"
) -> dict[str, Any]:
    """Write the page; `{"file", "runs", "tables", "charts", "claims"}` says what is in it."""
    target, runs = Path(path), unique(results)
    if target.suffix not in (".html", ".htm"):
        raise UsageError(f"A report ends in .html, got {target.name}.")
    if not runs:
        raise UsageError("A report needs at least one result, got none.")
    atomic.make_place(target.parent, "out")
    page, about = build_page(runs, title)
    with atomic.explain_errors("Writing the report", target.parent):
        atomic.replace(target, page.encode(errors="replace"))  # a title may come from a shell
    return {"file": str(target), **about}


def build_page(runs: list[RunResult], title: str) -> tuple[str, dict[str, Any]]:
    """The page, and what is in it."""
    charts: list[Chart] = []
    parts: dict[str, str] = {}
    judged = [each for each in judge(runs) if each.verdict != "not run"]
    parts["claims"] = section("claims", "Claims", _claims(judged))
    for name, (heading, drawn, tabulated) in SECTIONS.items():
        mine = [chart for kind in drawn for chart in CHARTS[kind](runs)]
        tables = [table for kind in tabulated for table in TABLES[kind](runs)]
        content = _figures(mine, first=len(charts)) + "".join(map(_titled, tables))
        parts[name] = section(name, heading, content)
        charts += mine
    parts["runs"] = section("runs", "What was run", _what_was_run(runs))
    titles = {"claims": "Claims", **{n: s[0] for n, s in SECTIONS.items()}, "runs": "What was run"}
    links = [element("a", text(titles[n]), href=f"#{n}") for n, part in parts.items() if part]
    body = _header(title, runs) + element("nav", *links) + element("main", *parts.values())
    about = {"runs": len(runs), "charts": len(charts), "claims": len(judged)}
    return _document(title, body, charts), about | {"tables": body.count('<table class="sortable')}


def _titled(table: Table) -> str:
    title = TITLES.get(table.name, table.name.capitalize())
    return element("h3", text(title)) + data_table(table)


def _header(title: str, runs: Sequence[RunResult]) -> str:
    worlds = by_world(runs)
    models = sorted({run.model for run in runs}, key=model_order)
    hours = sum(run.seconds for run in runs) / 3600
    facts = {
        "runs": len(runs),
        "worlds": len(worlds),
        "models": len(models),
        "seeds": len({run.seed for run in runs}),
        "hours of training": f"{hours:.1f}" if hours >= 0.1 else f"{hours:.2g}",
    }
    scales = dict.fromkeys(str(world.scale) for world in worlds)
    lead = f"{', '.join(models)}; {'; '.join(scales)}."
    items = [element("li", element("b", text(value)), text(name)) for name, value in facts.items()]
    intro = element("p", text(lead), class_="lead") + element("ul", *items, class_="facts")
    return element("header", element("h1", text(title)), intro)


def _claims(judged: Sequence[Judgement]) -> str:
    intro = (
        "Each verdict is about the scale it names. Reproduced: all intervals lie where the "
        "criterion wants them. Refuted: one lies elsewhere. Undecided: neither, or runs are "
        "missing, or seeds are few. Claims that were not run are left out."
    )
    return element("p", text(intro)) + claims_table(judged, map(numbers, judged))


def _figures(charts: Sequence[Chart], first: int) -> str:
    """Empty figures, which the script fills, with their titles and captions."""
    if not charts:
        return ""
    figures = [
        element(
            "figure",
            element("h3", text(chart.title)),
            element("figcaption", text(chart.caption)),
            id=f"chart-{first + i}",
        )
        for i, chart in enumerate(charts)
    ]
    return element("div", *figures, class_="charts")


def _what_was_run(runs: list[RunResult]) -> str:
    tables = "".join(data_table(table) for table in TABLES["runs"](runs))
    facts: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, version in run.versions.items():
            facts.setdefault(name, {})[str(version)] = None
    versions = {name: ", ".join(found) for name, found in sorted(facts.items())}
    return tables + element("h3", "Versions") + definitions(versions)


def _document(title: str, body: str, charts: Sequence[Chart]) -> str:
    """The whole page. Only this style and this script may run in it, and nothing may be loaded."""
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps([chart.as_json() for chart in charts], ensure_ascii=False, allow_nan=False)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{style}</style></head><body>{body}"
        "<noscript><p>The charts need JavaScript; the tables do not.</p></noscript>"
        f'<script type="application/json" id="charts">{_in_script(data)}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return files("nearsym.studies.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _in_script(data: str) -> str:
    """JSON that cannot end the script that holds it."""
    return data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

"""What people paste into papers, and keep: tables as Markdown and LaTeX, figures as SVG, and all
results as one file."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from nearsym.studies.claims.judge import judge
from nearsym.studies.figures import file_name, write_figures
from nearsym.studies.results import RunResult, write_results
from nearsym.studies.sweeps import with_audits
from nearsym.studies.tables.all import tables_of
from nearsym.studies.tables.table import Table
from nearsym.studies.tables.verdicts import verdicts
from nearsym.training import atomic

StrPath = str | PathLike[str]


def write_files(results: Iterable[RunResult], folder: StrPath) -> list[Path]:
    """Every table and figure that the results have something for, the table of claims, and
    results.jsonl with the ε that the audits have measured."""
    runs, place = with_audits(results), Path(folder)
    atomic.make_place(place, "files")
    file = place / "results.jsonl"
    write_results(file, runs)
    tables = [*tables_of(runs), verdicts(judge(runs))]
    return [file, *write_tables(tables, place), *write_figures(runs, place)]


def write_tables(tables: Iterable[Table], folder: StrPath) -> list[Path]:
    """Each table as Markdown and as LaTeX, in files by its name."""
    place, written = Path(folder), []
    atomic.make_place(place, "files")
    for table in tables:
        for ending, content in (("md", table.markdown() + "\n"), ("tex", table.latex())):
            written.append(place / f"{file_name(table.name)}.{ending}")
            with atomic.explain_errors("Writing a table", place, advice=atomic.TRY_AGAIN):
                atomic.replace(written[-1], content.encode())
    return written

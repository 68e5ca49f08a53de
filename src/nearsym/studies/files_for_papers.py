"""What people paste into papers, and keep: tables as Markdown and LaTeX, figures as SVG, and all
results as one file."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from nearsym.studies.claims.judge import judge
from nearsym.studies.figures import file_name, write_figures
from nearsym.studies.results import RunResult, write_results
from nearsym.studies.sweeps import with_epsilons
from nearsym.studies.tables.all import tables_of
from nearsym.studies.tables.verdicts import verdicts
from nearsym.training import atomic


def write_files(results: Iterable[RunResult], folder: str | PathLike[str]) -> list[Path]:
    """Every table and figure that the results have something for, the table of claims, and
    results.jsonl with the ε that the audits have measured."""
    runs, place = with_epsilons(results), Path(folder)
    atomic.make_place(place, "files")
    written = [place / "results.jsonl"]
    write_results(written[0], runs)
    for table in [*tables_of(runs), verdicts(judge(runs))]:
        for ending, content in (("md", table.markdown() + "\n"), ("tex", table.latex())):
            written.append(place / f"{file_name(table.name)}.{ending}")
            with atomic.explain_errors("Writing a table", place):
                atomic.replace(written[-1], content.encode())
    return written + write_figures(runs, place)

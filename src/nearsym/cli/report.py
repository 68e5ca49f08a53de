"""`nearsym report`."""

from dataclasses import dataclass
from typing import Any

from nearsym.cli.options import Positional


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one HTML page about a study: charts, tables, claims.

    nearsym report studies/curves-laptop --out report.html
    nearsym report docs/results/*.jsonl --out report.html --files for_the_paper

    The page works from disk, without a network.
    """

    study: Positional[tuple[str, ...]]
    """folders of studies, or files of results (.jsonl)"""
    out: str
    """write to this file (.html)"""
    title: str | None = None
    """what the page is called (default: the name of the study)"""
    files: str | None = None
    """also write tables (.md, .tex), figures (.svg) and all results as one file to this folder"""


def run(args: Report) -> dict[str, Any]:
    """`{"file", "runs", "charts", "tables", "claims", "files"}`."""
    from nearsym.studies.files_for_papers import write_files
    from nearsym.studies.report.page import read_sources, title_of, write_report
    from nearsym.studies.sweeps import with_audits

    results = with_audits(read_sources(args.study), progress=True)
    title = title_of(args.study) if args.title is None else args.title
    found = write_report(results, args.out, title=title)
    written = [] if args.files is None else write_files(results, args.files)
    return found | {"files": [str(path) for path in written]}


def show(result: dict[str, Any]) -> None:
    """Where the page is."""
    print(
        f"{result['runs']} runs: {result['charts']} charts, {result['tables']} tables, "
        f"{result['claims']} claims judged."
    )
    if result["files"]:
        print(f"{len(result['files'])} files for papers beside it.")
    print(f"Look at {result['file']}")

"""Grids of runs, and what they say: the tables, figures and claims of the paper, and one's own.

| file | what it is for |
|---|---|
| `study.py`, `builtin.py`, `files.py` | a study as a value; the paper's; one's own |
| `plan.py` | cells into configurations, checked before anything runs |
| `pool.py`, `hold.py`, `job.py`, `kept.py` | where runs lie, who works on one, what is kept |
| `schedule.py`, `workers.py`, `cluster.py`, `execute.py` | which run when, and where it is made |
| `display.py`, `rates.py` | what people see while it runs, how long it will take |
| `results.py` | what is kept of a run |
| `selection.py`, `scores.py` | which runs belong together, what one is worth |
| `statistics.py`, `regret.py`, `sweeps.py` | numbers of several runs, with intervals |
| `tables/`, `charts/`, `figures.py`, `task_pictures.py` | what is tabulated and drawn |
| `claims/`, `paper.py` | the paper's claims and its numbers |
| `findings.py`, `report/`, `files_for_papers.py` | all of it as data, as a page, as files |
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.studies.builtin import builtin_study as builtin_study
    from nearsym.studies.charts.all import charts_of as charts_of
    from nearsym.studies.charts.chart import Chart as Chart
    from nearsym.studies.claims.claim import Judgement as Judgement
    from nearsym.studies.claims.judge import judge as judge
    from nearsym.studies.execute import StudyOutcome as StudyOutcome
    from nearsym.studies.execute import run_study as run_study
    from nearsym.studies.figures import write_figures as write_figures
    from nearsym.studies.files import read_study as read_study
    from nearsym.studies.files_for_papers import write_files as write_files
    from nearsym.studies.regret import Regret as Regret
    from nearsym.studies.regret import regret_of as regret_of
    from nearsym.studies.report.page import write_report as write_report
    from nearsym.studies.results import RunResult as RunResult
    from nearsym.studies.results import read_results as read_results
    from nearsym.studies.results import write_results as write_results
    from nearsym.studies.statistics import Measured as Measured
    from nearsym.studies.study import Evaluation as Evaluation
    from nearsym.studies.study import Grid as Grid
    from nearsym.studies.study import Study as Study
    from nearsym.studies.tables.all import tables_of as tables_of
    from nearsym.studies.tables.table import Table as Table

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Chart": ".charts.chart",
        "Evaluation": ".study",
        "Grid": ".study",
        "Judgement": ".claims.claim",
        "Measured": ".statistics",
        "Regret": ".regret",
        "RunResult": ".results",
        "Study": ".study",
        "StudyOutcome": ".execute",
        "Table": ".tables.table",
        "builtin_study": ".builtin",
        "charts_of": ".charts.all",
        "judge": ".claims.judge",
        "read_results": ".results",
        "read_study": ".files",
        "regret_of": ".regret",
        "run_study": ".execute",
        "tables_of": ".tables.all",
        "write_figures": ".figures",
        "write_files": ".files_for_papers",
        "write_report": ".report.page",
        "write_results": ".results",
    },
)

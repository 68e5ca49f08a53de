"""Grids of runs, and what they say: the tables, figures and claims of the paper, and one's own.

| file | what it is for |
|---|---|
| `study.py`, `builtin.py`, `files.py` | a study as a value; the paper's; one's own |
| `plan.py` | cells into configurations, checked before anything runs |
| `pool.py`, `hold.py`, `job.py`, `kept.py` | where runs lie, who works on one, what is kept |
| `schedule.py`, `workers.py`, `cluster.py`, `execute.py` | which run when, and where it is made |
| `display.py`, `rates.py` | what people see while it runs, how long it will take |
| `results.py` | what is kept of a run |
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.studies.builtin import builtin_study as builtin_study
    from nearsym.studies.execute import StudyOutcome as StudyOutcome
    from nearsym.studies.execute import run_study as run_study
    from nearsym.studies.files import read_study as read_study
    from nearsym.studies.results import RunResult as RunResult
    from nearsym.studies.results import read_results as read_results
    from nearsym.studies.results import write_results as write_results
    from nearsym.studies.study import Evaluation as Evaluation
    from nearsym.studies.study import Grid as Grid
    from nearsym.studies.study import Study as Study

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Evaluation": ".study",
        "Grid": ".study",
        "RunResult": ".results",
        "Study": ".study",
        "StudyOutcome": ".execute",
        "builtin_study": ".builtin",
        "read_results": ".results",
        "read_study": ".files",
        "run_study": ".execute",
        "write_results": ".results",
    },
)

"""From a configuration to a finished run; the only place where the rooms are put together.

| file | what it is for |
|---|---|
| `config.py`, `presets.py`, `configure.py` | what defines a run, and where its settings come from |
| `build.py` | configurations into objects |
| `train.py` | start and resume |
| `folder.py`, `folders_0_1.py` | what lies in a run folder |
| `run.py`, `evaluate.py`, `plot.py` | a run as an object |
| `one_model.py`, `protocol.py`, `relaxed_figure.py` | several runs of one model as one result |
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.runs.config import RunConfig as RunConfig
    from nearsym.runs.curve import Curve as Curve
    from nearsym.runs.presets import preset_config as preset_config
    from nearsym.runs.protocol import RunsEvaluation as RunsEvaluation
    from nearsym.runs.protocol import best_of_runs as best_of_runs
    from nearsym.runs.protocol import mean_over_runs as mean_over_runs
    from nearsym.runs.relaxed_figure import plot_relaxed as plot_relaxed
    from nearsym.runs.run import Run as Run
    from nearsym.runs.start import start_run as start_run

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Curve": ".curve",
        "Run": ".run",
        "RunConfig": ".config",
        "RunsEvaluation": ".protocol",
        "best_of_runs": ".protocol",
        "mean_over_runs": ".protocol",
        "plot_relaxed": ".relaxed_figure",
        "preset_config": ".presets",
        "start_run": ".start",
    },
)

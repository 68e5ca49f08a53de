"""A learning curve as a picture."""

import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearsym.errors import MissingExtraError, UsageError
from nearsym.runs.curve import Curve
from nearsym.training import atomic
from nearsym.training.untrusted import as_label

if TYPE_CHECKING:
    from nearsym.runs.run import Run


def title_of(run: "Run") -> str:
    """Task, variant and model."""
    variant = "" if run.task.variant is None else f" {run.task.variant}"
    return f"{run.task.name}{variant}, {run.config.network.model}"


def plot_curve(curve: Curve, path: str | PathLike[str] | None, *, title: str) -> Any:
    """Mean return over frames, with a band from the worst to the best episode."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A plot", "plots") from error
    if not len(curve.frames):
        raise UsageError("There is nothing to plot before the first evaluation.")
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    thousands = curve.frames / 1000
    low, high = curve.returns.min(axis=1), curve.returns.max(axis=1)
    axes.fill_between(thousands, low, high, alpha=0.2, linewidth=0, label="worst to best episode")
    axes.plot(thousands, np.asarray(curve.mean), label="mean return")
    axes.set(xlabel="thousand frames", ylabel="return of an evaluation", title=as_label(title))
    axes.legend(frameon=False)
    return write_figure(figure, path)


def write_figure(figure: Any, path: str | PathLike[str] | None) -> Any:
    """The figure, also written to a file if one is named."""
    if path is not None:
        from nearsym.audits.plots import check_plot  # here: it brings all audits along

        target, picture = Path(path), io.BytesIO()
        check_plot(target)
        figure.savefig(picture, format=target.suffix[1:].lower(), dpi=150)
        with atomic.explain_errors("Writing the plot", target.parent, advice=atomic.TRY_AGAIN):
            atomic.replace(target, picture.getvalue())
    return figure

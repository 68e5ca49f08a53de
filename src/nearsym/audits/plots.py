"""The picture of an audit: where in the two most telling coordinates the symmetry is broken."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from nearsym.audits.environment import ElementAudit, EnvironmentAudit
from nearsym.audits.regions import Box
from nearsym.errors import MissingExtraError, UsageError
from nearsym.training import atomic

BINS = 25
HOLDS = "#cfe3f1"
"""Where the symmetry holds."""


def plot_audit(audit: EnvironmentAudit, path: Path, title: str = "") -> None:
    """Write a heat map for each element: mean mismatch, in mean steps, with the boxes found.

    Blue is where the symmetry holds, grey where no sample was taken.

    >>> import tempfile
    >>> from nearsym.audits import audit_environment
    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> found = audit_environment(MirrorPendulum(wind=0.2), samples=100, longest=50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_audit(found, Path(folder) / "where.png", "wind")
    """
    check_plot(path)
    figure_class, canvas, colormaps = _matplotlib()
    colours = colormaps["YlOrRd"].with_extremes(under=HOLDS)
    first, second = telling(audit)
    count = len(audit.elements)
    figure = figure_class(figsize=(4.6 * count + 0.6, 4.3), layout="constrained")
    canvas(figure)
    axes = figure.subplots(1, count, squeeze=False)[0]
    # A few collisions must not wash out the rest: the scale ends at the 98 % quantile of breaks.
    breaks = np.concatenate(
        [e.mismatch[e.mismatch > audit.coordinates.rounding] for e in audit.elements]
    )
    top = float(np.quantile(breaks, 0.98)) if len(breaks) else 1.0
    scale = {"cmap": colours, "vmin": min(1e-6, 1e-3 * top), "vmax": top}
    for ax, element in zip(axes, audit.elements, strict=True):
        image = _panel(ax, audit, element, first, second, scale)
    figure.colorbar(
        image, ax=list(axes), label="mismatch of next states (mean steps)", extend="max"
    )
    figure.suptitle(f"{title}: {audit.verdict}" if title else str(audit.verdict))
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), dpi=130)
    with atomic.explain_errors("Writing the plot", path.parent, advice=atomic.TRY_AGAIN):
        atomic.replace(path, picture.getvalue())


def check_plot(path: Path) -> None:
    """Refuse a file that could not be written, before anything is measured; its folder is made."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UsageError(f"A plot is written to a .png, .pdf or .svg file, got {path.name!r}.")
    _matplotlib()
    atomic.make_place(path.parent, "path")


def telling(audit: EnvironmentAudit) -> tuple[int, int]:
    """The two columns that tell most: where it is broken, then how much."""
    where = np.sum([e.importance for e in audit.elements], axis=0)
    much = np.sum([_explained(audit.x, e.mismatch) for e in audit.elements], axis=0)
    where = np.where(where > 0.02 * where.max(), where, 0.0)  # a stray split tells nothing
    # What tells nothing about where comes after what does, by how much it tells about the size.
    told = where / max(float(where.max()), 1e-300) + 1e-3 * much / max(float(much.max()), 1e-300)
    order = np.argsort(-told, kind="stable")
    return int(order[0]), int(order[min(1, len(order) - 1)])


def _explained(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much of the variance of y > 0 each column, cut into ten equal parts, explains."""
    x, y = x[y > 0], y[y > 0]
    if len(y) < 20 or y.std() == 0:
        return np.zeros(x.shape[1])
    explained = []
    for column in x.T:
        parts = np.array_split(y[np.argsort(column, kind="stable")], 10)
        explained.append(np.var([part.mean() for part in parts]) / y.var())
    return np.array(explained)


def _panel(
    ax: Any,
    audit: EnvironmentAudit,
    element: ElementAudit,
    first: int,
    second: int,
    scale: dict[str, Any],
) -> Any:
    names, x = audit.names, audit.x
    sums, edges, other = np.histogram2d(
        x[:, first], x[:, second], bins=BINS, weights=element.mismatch
    )
    counts = np.histogram2d(x[:, first], x[:, second], bins=(edges, other))[0]
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    ax.set_facecolor("0.92")  # where nothing was visited
    image = ax.pcolormesh(edges, other, mean.T, rasterized=True, **scale)
    for box in element.regions:
        _outline(ax, box, names[first], names[second], edges, other)
    ax.set_xlabel(names[first])
    ax.set_ylabel(names[second])
    share = element.strength.broken_share
    ax.set_title(f"{element.name}: broken at {share:.0%} of the samples", fontsize=10)
    return image


def _outline(
    ax: Any, box: Box, first: str, second: str, edges: np.ndarray, other: np.ndarray
) -> None:
    left, right = box.bounds.get(first, (edges[0], edges[-1]))
    low, high = box.bounds.get(second, (other[0], other[-1]))
    x, y = [left, right, right, left, left], [low, low, high, high, low]
    ax.plot(x, y, color="tab:blue", linewidth=1.2, clip_on=False)


def _matplotlib() -> tuple[Any, Any, Any]:
    try:
        from matplotlib import colormaps
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("The plot of an audit", "plots") from error
    return Figure, FigureCanvasAgg, colormaps

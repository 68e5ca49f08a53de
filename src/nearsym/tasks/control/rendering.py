"""Pictures of the control domains: exactly symmetric, and fast.

The picture of g·c is g applied to the picture of c, with difference 0. A rasteriser alone does
not give that (its tie rules prefer one side), so a configuration is first counted in small whole
steps, then moved to the largest member of its orbit, drawn there, and the picture moved back:

    picture(c) = g⁻¹ · draw(g·c),        g·c the largest of the orbit {h·c : h in G}.

All members of an orbit share one drawing. A configuration that some h leaves in place gets the
mean of its drawing over those h.
"""

import copy
import os
import threading
from typing import Any

import numpy as np
from jaxtyping import UInt8

from nearsym.groups.action import GridMove, grid_moves
from nearsym.tasks.control import opengl
from nearsym.tasks.control.domain import Domain

TURN = 1 << 20
"""Steps in a full turn: angles are drawn to 6e-6 radians."""
STEP = 2.0**-20
"""The step of lengths, in metres. Both are far below a pixel and far above rounding errors."""

FINE = 128
"""Pictures larger than this get all of dm_control's facets on round shapes."""


class Painter:
    """Draws the configurations of one domain at one size.

    `background=False` leaves out floor, sky, shadows and reflections and draws symmetrically;
    `background=True` is dm_control's own picture, floor and stars and all, which no element moves.
    """

    def __init__(self, domain: Domain, model: Any, size: int, *, background: bool):
        self._domain = domain
        self._size = size
        self._background = background
        # Multisampling prefers one side of an edge; four samples a pixel averaged by hand do not.
        self._samples = 1 if background else 2
        drawn = _render_model(domain, model, size, background)
        self._canvas = opengl.Canvas(drawn, size * self._samples, background=background)
        self._target = model.geom("target").id if domain.has_target else -1
        self._moves = grid_moves(domain.group)
        self._scale = np.where(domain.angles, TURN / (2 * np.pi), 1 / STEP)

    def paint(self, configuration: np.ndarray) -> UInt8[np.ndarray, "height width 3"]:
        """The picture of a configuration (qpos, then the target if there is one)."""
        if self._background:
            return self._draw(configuration).copy()
        counts = tuple(int(c) for c in np.rint(configuration * self._scale))
        orbit = [self._moved(g, counts) for g in range(self._domain.group.order)]
        largest = max(orbit)
        image = self._draw(np.array(largest) / self._scale)
        found = [self._back(g, image) for g, member in enumerate(orbit) if member == largest]
        if len(found) == 1:
            return np.ascontiguousarray(found[0])
        # The configuration is its own mirror image, and rounding halves up keeps the mean so.
        total = np.stack(found).sum(axis=0, dtype=np.uint16)
        return ((2 * total + len(found)) // (2 * len(found))).astype(np.uint8)

    def _moved(self, g: int, counts: tuple[int, ...]) -> tuple[int, ...]:
        """g·c in whole steps, angles in [0, TURN), so that no winding and no rounding remains."""
        d = self._domain
        rows = zip(counts, d.signs[g], d.half_turns[g], d.angles, strict=True)
        return tuple((s * c + h * TURN // 2) % TURN if a else s * c for c, s, h, a in rows)

    def _back(self, g: int, image: np.ndarray) -> np.ndarray:
        move: GridMove = self._moves[self._domain.group.inverse[g]]
        return move.apply(image, 0, 1)

    def _draw(self, configuration: np.ndarray) -> np.ndarray:
        joints = len(self._domain.joints)
        self._canvas.data.qpos[:] = configuration[:joints]
        if self._domain.has_target:
            self._canvas.model.geom_pos[self._target, :2] = configuration[joints:]
        image = self._canvas.draw()
        return image if self._samples == 1 else _mean_of_squares(image)


_PAINTERS: dict[tuple[int, int, str, int, bool], Painter] = {}


def painter(domain: Domain, model: Any, size: int, *, background: bool) -> Painter:
    """The painter of a domain and size, made once for each process and thread.

    A painting depends on nothing but the configuration, so environments share one. OpenGL contexts
    belong to one thread and must not be used after a fork, which is why both are in the key.
    """
    key = (os.getpid(), threading.get_ident(), domain.name, size, background)
    if key not in _PAINTERS:
        _PAINTERS[key] = Painter(domain, model, size, background=background)
    return _PAINTERS[key]


def _render_model(domain: Domain, model: Any, size: int, background: bool) -> Any:
    """A copy of the simulator's model that is only for drawing, without what would break symmetry.

    Cameras, colours and shapes stay dm_control's.
    """
    model = copy.deepcopy(model)
    # A string under tension hangs along gravity: the tilt of a variant must not be visible in it.
    model.opt.gravity[:] = (0.0, 0.0, -9.81)
    if background:
        return model
    if size <= FINE:
        # Vertices, not pixels, are what small pictures cost. Fewer facets than dm_control's 28×16
        # halve the time and move a pixel by less than 0.05 of 255 in the mean.
        model.vis.quality.numslices, model.vis.quality.numstacks = 16, 8
    model.vis.quality.offsamples = 0
    model.light_castshadow[:] = 0
    model.mat_reflectance[:] = 0
    model.site_group[:] = 4  # not drawn
    model.tendon_limited[:] = 0  # drawn straight
    for floor in ("floor", "ground"):
        if floor in [model.geom(i).name for i in range(model.ngeom)]:
            model.geom(floor).rgba[3] = 0.0
    domain.retouch(model)
    return model


def _mean_of_squares(image: np.ndarray) -> np.ndarray:
    """Each 2×2 square becomes its mean, halves rounded up: (2h, 2w, 3) → (h, w, 3)."""
    rows = np.add(image[0::2], image[1::2], dtype=np.uint16)
    total = np.empty((rows.shape[0], rows.shape[1] // 2, 3), np.uint16)
    for channel in range(3):  # long loops along rows, where numpy would make short ones of three
        np.add(rows[:, 0::2, channel], rows[:, 1::2, channel], out=total[:, :, channel])
    total += 2
    total >>= 2
    return total.astype(np.uint8)

"""The one file that talks to OpenGL: choosing a backend without a screen, and drawing a scene."""

import ctypes
import os
import sys
from typing import Any

import numpy as np

from nearsym.errors import UsageError

HELP = (
    "Install a software one (Debian, Ubuntu: apt-get install libegl1 libgles2, or libosmesa6), "
    'or use obs="state", which needs none.'
)
_LIBRARIES = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
_OFF = ("off", "disable", "disabled", "false", "0")


def choose_backend() -> None:
    """Settle MUJOCO_GL before mujoco is first imported: EGL, else OSMesa, else no rendering.

    A value that is already set stays. Left alone, mujoco would try GLFW, which needs a screen.
    """
    if "MUJOCO_GL" not in os.environ and sys.platform.startswith("linux"):
        found = [name for name, library in _LIBRARIES.items() if _loads(library)]
        os.environ["MUJOCO_GL"] = found[0] if found else "off"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _context(width: int, height: int) -> Any:
    """A new OpenGL context of the chosen backend."""
    choose_backend()
    # Threads of the software rasteriser do not survive a fork and cost more than they bring at
    # these sizes. Read when the first context is made.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    backend = os.environ.get("MUJOCO_GL", "").strip().lower()
    if backend in _OFF:
        raise UsageError(f"Pixels need an OpenGL library, and none was found or allowed. {HELP}")
    try:
        if backend == "egl":
            from mujoco.egl import GLContext
        elif backend == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.gl_context import GLContext
        return GLContext(width, height)
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        # AttributeError: PyOpenGL's answer to a library that is not there.
        raise UsageError(
            f"The OpenGL backend MUJOCO_GL={backend} does not start ({error}). {HELP}"
        ) from error


class Canvas:
    """A square picture of camera 0, drawn from `data.qpos` into memory.

    `mujoco.Renderer` without its per-frame copies, and with a backend that does not depend on
    what was imported before. Change `model` and `data.qpos`, then call `draw`.
    """

    def __init__(self, model: Any, size: int, *, background: bool):
        self._gl = _context(size, size)
        import mujoco

        self._mujoco = mujoco
        self.model = model
        self.data = mujoco.MjData(model)
        model.vis.global_.offwidth = model.vis.global_.offheight = size
        self._gl.make_current()
        self._scene = mujoco.MjvScene(model, maxgeom=256)
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type, self._camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
        self._rectangle = mujoco.MjrRect(0, 0, size, size)
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._image = np.empty((size, size, 3), np.uint8)
        if not background:
            flags = mujoco.mjtRndFlag
            for flag in (flags.mjRND_SHADOW, flags.mjRND_REFLECTION, flags.mjRND_SKYBOX):
                self._scene.flags[flag] = 0

    def draw(self) -> np.ndarray:
        """The picture, top row first: a view that the next call overwrites."""
        mujoco = self._mujoco
        # What a picture needs of a forward pass.
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        mujoco.mj_tendon(self.model, self.data)
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self.model, self.data, self._option, None, self._camera, everything, self._scene
        )
        self._gl.make_current()
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(self._image, None, self._rectangle, self._context)
        return self._image[::-1]

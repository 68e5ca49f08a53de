"""The one file that talks to OpenGL: choosing a backend without a screen, and drawing a scene."""

import ctypes
import functools
import os
import sys
from typing import Any

import numpy as np

from nearsym.errors import UsageError, unknown_name

HELP = (
    "Install a software one (Debian, Ubuntu: apt-get install libegl1 libgles2, or libosmesa6), "
    'or use obs="state" with MUJOCO_GL=off, which needs none.'
)
_OFF = ("off", "disable", "disabled", "false", "0")
_SCREEN = ("glfw", "on", "enable", "enabled", "true", "1")
_HEADLESS = ("egl", "osmesa")


def prepare() -> None:
    """Settle what OpenGL reads from the environment, before dm_control is first imported.

    MUJOCO_GL becomes EGL, else OSMesa, else no rendering: left alone, mujoco would try GLFW, which
    needs a screen. LP_NUM_THREADS becomes 0: threads of the software rasteriser do not survive a
    fork and bring nothing at these sizes; Mesa reads it as soon as dm_control opens a display.
    Values that are already set stay.
    """
    os.environ.setdefault("LP_NUM_THREADS", "0")
    if not sys.platform.startswith("linux"):
        return
    if not _backend():
        found = [backend for backend in _HEADLESS if _is_there(backend)]
        os.environ["MUJOCO_GL"] = found[0] if found else "off"
    backend = _backend()
    if backend not in (*_OFF, *_SCREEN, *_HEADLESS):
        raise unknown_name("value of MUJOCO_GL", backend, ("egl", "osmesa", "glfw", "off"))
    if backend in _HEADLESS and not _is_there(backend):
        raise no_opengl("its library is not there")


def no_opengl(reason: object) -> UsageError:
    """The error for a backend that does not start."""
    return UsageError(f"OpenGL does not start with MUJOCO_GL={_backend()} ({reason}). {HELP}")


def _backend() -> str:
    return os.environ.get("MUJOCO_GL", "").strip().lower()


@functools.cache
def _is_there(backend: str) -> bool:
    """Whether a backend's library loads and, for EGL, knows a device to draw on."""
    try:
        library = ctypes.CDLL({"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}[backend])
    except OSError:
        return False
    if backend == "osmesa":
        return True
    library.eglGetProcAddress.restype = ctypes.c_void_p
    address = library.eglGetProcAddress(b"eglQueryDevicesEXT")
    if not address:
        return False
    query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
    devices = ctypes.c_int(0)
    return bool(query(0, None, ctypes.byref(devices))) and devices.value > 0


def _context(width: int, height: int) -> Any:
    """A new OpenGL context of the chosen backend."""
    prepare()
    backend = _backend()
    if backend in _OFF:
        raise no_opengl("none was found, or none is allowed")
    try:
        if backend == "egl":
            from mujoco.egl import GLContext
        elif backend == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.gl_context import GLContext
        return GLContext(width, height)
    except (ImportError, AttributeError, RuntimeError) as error:
        # AttributeError: PyOpenGL's answer to a library that is not there.
        raise no_opengl(error) from error


def _never_free(*things: Any) -> None:
    """Keep objects until the process ends, and even then leave them to the system.

    Freeing an OpenGL context spoils the pictures of others, hangs in a forked child that inherited
    it and fails while the interpreter shuts down. Canvases are few and shared: see `painter`.
    """
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


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
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        except mujoco.FatalError as error:  # a context without a screen behind it
            raise no_opengl(error) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._image = np.empty((size, size, 3), np.uint8)
        _never_free(self._gl, self._context)
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

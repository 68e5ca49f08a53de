"""How much memory there is; and keeping what was freed, worth a quarter of an update on CPUs.

An update frees and asks again for the same large blocks; by default glibc returns each to the
system and gets it back page by page.
"""

import ctypes
import ctypes.util
import math
import os

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Ask glibc to reuse blocks of up to 32 MiB; False where there is no glibc."""
    name = ctypes.util.find_library("c")
    libc = ctypes.CDLL(name) if name else None
    if libc is None or not hasattr(libc, "mallopt"):
        return False
    settings = {
        _M_MMAP_THRESHOLD: 32 * 2**20,
        _M_TRIM_THRESHOLD: 2_000_000_000,
        _M_TOP_PAD: 256 * 2**20,
    }
    accepted = [libc.mallopt(option, value) for option, value in settings.items()]
    return all(accepted)


def machine_memory() -> float:
    """The bytes of memory that this machine has; infinite where the system does not say.

    >>> machine_memory() > 2**20
    True
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return math.inf

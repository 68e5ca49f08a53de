"""The archive in a checkpoint, looked through before torch reads it: it may come from anybody.

- Its parts lie there as they are, not compressed, and are together no longer than it.
- Its recipe, a pickle, calls for nothing but tensors and dictionaries.
"""

import io
import pickle
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from nearsym.training.storage import CorruptError

RECIPE = "/data.pkl"
_GLOBALS = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "_codecs encode"}
"""What a saved state refers to by name, beside the storages of tensors."""

_SHORT = b"|".join(rb"%s\x00{3}.{%d}" % (re.escape(bytes([n])), n) for n in range(64))
_SINGLE = rb"[(0}\])Nabestu\x85\x86\x87\x88\x89QR]*+"
_PLAIN_OPERATIONS = re.compile(
    rb"(?:%s(?:r....|[qhK].|X(?:%s)|[jJ]....|M..|G.{8}|\x80.))*+%s" % (_SINGLE, _SHORT, _SINGLE),
    re.DOTALL,
)
"""Operations of a pickle, with their arguments, that name nothing and have a fixed length, the most
frequent first; among them texts of each small length."""
_COUNTED = {pickle.BINUNICODE: 4, pickle.LONG1: 1}
"""Operations whose argument is as long as a number of so many bytes before it says."""

WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)
"""What comes of data that is not what it should be."""

_END = struct.Struct("<12s4x8s4Q8sQI4s16xH")
_ENTRY = struct.Struct("<4s6xH12xI3H8xI")
_HEAD = struct.Struct("<4s22x2H")
_USUAL = [b"PK\6\6\x2c" + bytes(7), bytes(8), b"PK\6\7" + bytes(4), b"PK\5\6"]
"""Of an archive: its end, an entry of its directory, the head of a part.
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT; at last the signs in the end that torch
writes: one disk, nothing in between."""


Part = tuple[str, bool, int, int]
"""A file in an archive: its name, whether it is compressed, its size, and where its head is."""


def check_archive(path: Path, body: bytes) -> None:
    """Refuse an archive that would grow when it is unpacked, or call for more than tensors."""
    try:
        parts = parts_of(body)
        _, compressed, sizes, _ = zip(*parts, strict=True)
        if any(compressed):
            raise CorruptError(f"{path} is compressed; checkpoints are not.")
        if sum(sizes) > len(body):
            raise CorruptError(f"{path} claims to hold more than it does.")
        # torch finds a part whatever the case of its name: there must not be two.
        (recipe,) = [part for part in parts if part[0].lower().endswith(RECIPE)]
        named = [*_named(_content(body, recipe))]
    except CorruptError:
        raise
    except (zipfile.BadZipFile, struct.error, *WRONG) as error:
        raise CorruptError(
            f"{path} is no archive of tensors and plain data; it was refused and nothing in it ran."
        ) from error
    foreign = [n for n in named if n not in _GLOBALS and not _is_storage(n)]
    if foreign:
        raise CorruptError(
            f"{path} holds more than tensors and plain data; it was refused and nothing in it ran."
        )


def parts_of(body: bytes) -> list[Part]:
    """The parts of an archive, by its directory.

    What torch saves ends in one way, which leaves nothing open. Any other archive is read by
    `zipfile`, in three times the time.
    """
    end = max(len(body) - _END.size, 0)
    *signs, here, count, size, at, more, where, disks, last, note = _END.unpack_from(body, end)
    usual = [*signs, more, last] == _USUAL
    if not usual or (here, at + size, where, disks, note) != (count, end, end, 1, 0):
        return _by_zipfile(body)
    parts: list[Part] = []
    read, long = _ENTRY.unpack_from, _ENTRY.size
    for _ in range(count):
        sign, method, size, name, extra, note, head = read(body, at)
        if sign != b"PK\1\2" or extra:
            return _by_zipfile(body)
        start, at = at + long, at + long + name + note
        parts.append((body[start : start + name].decode("ascii"), method != 0, size, head))
    if at != end:
        raise ValueError("its directory is longer than its parts")
    return parts


def _by_zipfile(body: bytes) -> list[Part]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return [
            (part.filename, part.compress_type != 0, part.file_size, part.header_offset)
            for part in archive.infolist()
        ]


def _content(body: bytes, part: Part) -> bytes:
    _, _, size, head = part
    sign, name, extra = _HEAD.unpack_from(body, head)
    if sign != b"PK\3\4":
        raise ValueError("a part has no head")
    start = head + _HEAD.size + name + extra
    return body[start : start + size]


def _named(recipe: bytes) -> Iterator[str]:
    """Every name that a pickle calls for, found by reading it and not by following it.

    Only what torch writes is known here; any other operation counts as a name, which nobody knows.
    `pickletools` reads the same in ten times the time, a fifth of loading a small checkpoint.
    """
    at = 0
    while True:
        at = _PLAIN_OPERATIONS.match(recipe, at).end()  # type: ignore[union-attr]
        operation = recipe[at : at + 1]
        if operation == pickle.STOP:
            return
        if operation == pickle.GLOBAL:
            module = recipe.index(b"\n", at)
            end = recipe.index(b"\n", module + 1)
            name = recipe[at + 1 : module] + b" " + recipe[module + 1 : end]
            yield name.decode("ascii", "replace")
            at = end + 1
        elif operation in _COUNTED:
            start = at + 1 + _COUNTED[operation]
            at = start + int.from_bytes(recipe[at + 1 : start], "little")
        else:
            yield f"operation {operation!r}"
            return


def _is_storage(name: str) -> bool:
    return name.startswith("torch ") and name.endswith("Storage")

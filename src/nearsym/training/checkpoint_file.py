"""One checkpoint as a file: a line with the format, a line with the SHA-256 of the rest, the rest.

The rest is a `torch.save` of tensors and plain data. A file may come from anybody, with a checksum
that is right. Before torch reads it with `weights_only=True`, so that nothing in it can run, it is
seen to that reading takes no more memory than the file is long:

- its parts lie in the archive as they are, not compressed;
- it calls for nothing but tensors and dictionaries;
- no tensor claims more numbers than it brings along.
"""

import hashlib
import io
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nearsym.errors import UsageError
from nearsym.training.allocator import machine_memory
from nearsym.training.packing import unpack
from nearsym.training.storage import CorruptError
from nearsym.training.untrusted import refuse_irregular

FORMAT = b"nearsym-checkpoint-2"
_DIGEST = 64  # hexadecimal digits of a SHA-256
_START = len(FORMAT) + _DIGEST + 2
_COPIES = 3  # of a file in memory, while it is read
_NEEDED = {"frames", "state", "replay"}
_ENTRIES = _NEEDED | {"settings"}
_GLOBALS = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "_codecs encode"}
"""What a saved state refers to by name, beside the storages of tensors."""

_PLAIN_OPERATIONS = re.compile(
    rb"(?:[\x80qhK].|[rjJ].{4}|M..|G.{8}|[(0}\])Nabestu\x85\x86\x87\x88\x89QR])*+", re.DOTALL
)
"""Operations of a pickle, with their arguments, that name nothing and have a fixed length."""
_COUNTED = {pickle.BINUNICODE: 4, pickle.LONG1: 1}
"""Operations whose argument is as long as a number of so many bytes before it says."""

WRONG = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)
"""What comes of data that is not what it should be."""


def encode(content: dict[str, Any]) -> tuple[bytes, memoryview]:
    """The head and the rest of a file."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    body = buffer.getbuffer()
    return b"%s\n%s\n" % (FORMAT, hashlib.sha256(body).hexdigest().encode()), body


def decode(path: Path) -> dict[str, Any]:
    """The content of a file; `CorruptError` for anything that `encode` did not make."""
    head, body = _read(path)
    if head[len(FORMAT) + 1 :] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise CorruptError(f"{path} does not match its checksum: it is damaged or incomplete.")
    buffer = io.BytesIO(body)  # no copy, as long as nobody writes to it
    check_archive(path, buffer, len(body))
    content = _load(path, buffer)
    check_content(path, content)
    try:
        return content | {"state": unpack(content["state"])}
    except WRONG as error:
        raise CorruptError(f"{path} holds no state of a run: {reason(error)}.") from error


def reason(error: BaseException) -> str:
    """What an error says, as a part of a sentence: one line, not too long."""
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= 200 else f"{text[:200]} …"


def _read(path: Path) -> tuple[bytes, bytes]:
    try:
        refuse_irregular(path)
        with path.open("rb", buffering=0) as file:  # a buffer would copy all of it
            head = file.read(_START)
            if not head.startswith(FORMAT + b"\n"):
                raise CorruptError(f"{path} is not a checkpoint of this version of nearsym.")
            size = os.fstat(file.fileno()).st_size
            if _COPIES * size > machine_memory():
                raise CorruptError(f"{path} has {size:,} bytes: too many for this machine.")
            return head, file.read()
    except UsageError as error:
        raise CorruptError(str(error)) from error
    except OSError as error:
        raise CorruptError(f"{path} cannot be read ({error.strerror}).") from error


def check_archive(path: Path, body: io.BytesIO, size: int) -> None:
    """Refuse an archive that would grow when it is unpacked, or call for more than tensors."""
    try:
        with zipfile.ZipFile(body) as archive:
            parts = archive.infolist()
            if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
                raise CorruptError(f"{path} is compressed; checkpoints are not.")
            if sum(part.file_size for part in parts) > size:
                raise CorruptError(f"{path} claims to hold more than it does.")
            (recipe,) = [p for p in parts if p.filename.rpartition("/")[2] == "data.pkl"]
            named = [*_named(archive.read(recipe))]
    except CorruptError:
        raise
    except (zipfile.BadZipFile, *WRONG) as error:
        raise CorruptError(
            f"{path} is no archive of tensors and plain data; it was refused and nothing in it ran."
        ) from error
    foreign = [n for n in named if n not in _GLOBALS and not _is_storage(n)]
    if foreign:
        raise CorruptError(
            f"{path} holds more than tensors and plain data; it was refused and nothing in it ran."
        )


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


def _load(path: Path, body: io.BytesIO) -> Any:
    body.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's remarks on files that it then refuses
            return torch.load(body, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # how torch says that it met something executable
        raise CorruptError(
            f"{path} holds more than tensors and plain data; it was refused and nothing in it ran."
        ) from error
    except (EOFError, OSError, *WRONG) as error:
        raise CorruptError(f"{path} holds no state that torch can read.") from error


def check_content(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or not _NEEDED <= set(content) <= _ENTRIES:
        raise CorruptError(f"{path} holds something other than the state of a run.")
    kinds = {"frames": int, "state": dict, "replay": dict | None, "settings": dict | None}
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            found = type(content.get(name)).__name__
            raise CorruptError(f"{path} holds no state of a run: its {name!r} is a {found}.")
    if any(_claims_more(tensor) for tensor in _tensors(content)):
        raise CorruptError(f"{path} has a tensor that claims more numbers than it brings along.")


def _claims_more(tensor: Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        return True
    return tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes()


def _tensors(content: Any) -> Iterator[Tensor]:
    """The tensors in plain data; a stack instead of recursion, since anybody may nest deeply."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value

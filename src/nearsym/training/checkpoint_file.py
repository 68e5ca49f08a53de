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
import json
import os
import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nearsym.errors import UsageError
from nearsym.training.allocator import machine_memory
from nearsym.training.archive import WRONG, check_archive
from nearsym.training.packing import unpack
from nearsym.training.storage import CorruptError
from nearsym.training.untrusted import refuse_irregular

FORMAT = b"nearsym-checkpoint-2"
_DIGEST = 64  # hexadecimal digits of a SHA-256
_START = len(FORMAT) + _DIGEST + 2
_COPIES = 3  # of a file in memory, while it is read
_NEEDED = {"frames", "state", "replay"}
_ENTRIES = _NEEDED | {"settings"}
_LISTS = (list, tuple)


def encode(content: dict[str, Any]) -> tuple[bytes, memoryview]:
    """The head and the rest of a file; settings are one text, which torch reads at once."""
    settings, buffer = content.get("settings"), io.BytesIO()
    text = None if settings is None else json.dumps(settings)
    torch.save(content | {"settings": text}, buffer)
    body = buffer.getbuffer()
    return b"%s\n%s\n" % (FORMAT, hashlib.sha256(body).hexdigest().encode()), body


def decode(path: Path) -> dict[str, Any]:
    """The content of a file; `CorruptError` for anything that `encode` did not make."""
    head, body = _read(path)
    if head[len(FORMAT) + 1 :] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise CorruptError(f"{path} does not match its checksum: it is damaged or incomplete.")
    check_archive(path, body)
    content = _load(path, io.BytesIO(body))  # no copy, as long as nobody writes to it
    check_content(path, content)
    try:
        settings = _settings(content.get("settings"))
        return content | {"state": unpack(content["state"]), "settings": settings}
    except (RecursionError, *WRONG) as error:
        raise CorruptError(f"{path} holds no state of a run: {reason(error)}.") from error


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are when they were saved and read: lists for tuples.

    >>> plain_settings({"seed": 3, "sizes": (1, 2)})
    {'seed': 3, 'sizes': [1, 2]}
    """
    return json.loads(json.dumps(dict(settings)))


def _settings(saved: Any) -> dict[str, Any] | None:
    """Settings from their text; files made before 0.2 was released have them as they are."""
    if saved is None or isinstance(saved, dict):
        return None if saved is None else plain_settings(saved)
    found = json.loads(saved)
    if not isinstance(found, dict):
        raise ValueError(f"its 'settings' are a {type(found).__name__}")
    return found


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


def _load(path: Path, body: io.BytesIO) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's remarks on files that it then refuses
            return torch.load(body, map_location=_where_it_is, weights_only=True)
    except pickle.UnpicklingError as error:  # how torch says that it met something executable
        raise CorruptError(
            f"{path} holds more than tensors and plain data; it was refused and nothing in it ran."
        ) from error
    except (EOFError, OSError, *WRONG) as error:
        raise CorruptError(f"{path} holds no state that torch can read.") from error


def _where_it_is(storage: Any, location: str) -> Any:
    """Storages are read to the CPU, and stay there wherever they were saved; torch's "cpu" comes to
    the same in more steps."""
    return storage


def check_content(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or not _NEEDED <= set(content) <= _ENTRIES:
        raise CorruptError(f"{path} holds something other than the state of a run.")
    kinds = {"frames": int, "state": dict, "replay": dict | None, "settings": str | dict | None}
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            found = type(content.get(name)).__name__
            raise CorruptError(f"{path} holds no state of a run: its {name!r} is a {found}.")
    if _claim_more(_tensors(content)):
        raise CorruptError(f"{path} has a tensor that claims more numbers than it brings along.")


def _claim_more(tensors: Iterable[Tensor], strided: torch.layout = torch.strided) -> bool:
    """Whether one of them is no plain array in memory with all of its numbers."""
    return any(
        t.layout is not strided or not t.is_cpu or t.nbytes > t.untyped_storage().nbytes()
        for t in tensors
    )


def _tensors(content: Any) -> Iterator[Tensor]:
    """The tensors in plain data; a stack instead of recursion, since anybody may nest deeply."""
    left = [content]
    for value in left:  # which grows on the way
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, _LISTS):
            left += value
        elif isinstance(value, Tensor):
            yield value

"""Random edits of the files of a run folder, from a flipped bit to a forged checkpoint."""

import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import torch

from fuzz.values import junk
from nearsym.training.checkpoint_file import FORMAT


def edit(folder: Path, witness: Path, rng) -> str:
    """One edit of one file; says what it was."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    path = rng.choice(files)
    fitting = list(GENERAL)
    if path.suffix == ".json":
        fitting += 3 * [edit_json]
    if path.suffix == ".jsonl":
        fitting += 3 * [edit_line]
    if path.suffix == ".ckpt":
        fitting += 3 * [forge]
    change = rng.choice(fitting)
    change(path, witness, rng)
    return f"{change.__name__} {path.relative_to(folder)}"


def delete(path, witness, rng):
    path.unlink()


def delete_folder(path, witness, rng):
    if path.parent.name in ("checkpoints", "replay", "tb"):
        shutil.rmtree(path.parent)
    else:
        path.unlink()


def empty(path, witness, rng):
    path.write_bytes(b"")


def truncate(path, witness, rng):
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def flip(path, witness, rng):
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 10])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def overwrite(path, witness, rng):
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data) + 1)
    data[start : start + rng.choice([1, 8, 100])] = rng.randbytes(rng.choice([0, 1, 50, 1000]))
    path.write_bytes(data)


def swap(path, witness, rng):
    """The content of another file of the folder."""
    others = sorted(p for p in path.parents[1].rglob("*") if p.is_file() and not p.is_symlink())
    path.write_bytes(rng.choice(others).read_bytes())


def rename(path, witness, rng):
    names = ["metrics.jsonl", "checkpoint-000000000999.ckpt", "checkpoint-x.ckpt", "a\nb", "é"]
    names += ["segment-000009.bin", "segment--1.bin", "best.ckpt", "config.json.part", "lock"]
    target = path.with_name(rng.choice(names))
    if not target.is_dir():
        path.rename(target)


def link(path, witness, rng):
    path.unlink()
    path.symlink_to(rng.choice([witness / "file", "/dev/zero", "/dev/null", path, "nowhere"]))


def link_folder(path, witness, rng):
    """A link in the place of a folder that is not the whole."""
    outer = [folder for folder in path.parents if folder.parent.name in ("mine", "out", "pool")]
    inner = [path.parent] if path.parent.name in ("checkpoints", "replay", "tb") else []
    if path.parents[1].name == "locks":
        inner = [path.parent]
    found = [folder for folder in (*inner, *outer) if folder.name not in ("mine", "out")]
    if not found:
        link(path, witness, rng)
        return
    folder = rng.choice(found)
    shutil.rmtree(folder)
    folder.symlink_to(rng.choice([witness, witness / "other"]))


def pipe(path, witness, rng):
    path.unlink()
    os.mkfifo(path)


def folder_instead(path, witness, rng):
    path.unlink()
    path.mkdir()


def sparse(path, witness, rng):
    os.truncate(path, rng.choice([10**6, 10**8]))


GENERAL = [delete, delete_folder, empty, truncate, flip, flip, overwrite, swap, rename, link]
GENERAL += [link_folder, pipe, folder_instead, sparse]


def edit_json(path, witness, rng):
    try:
        value = json.loads(path.read_text())
    except ValueError:
        return
    changed = edit_value(value, rng)
    text = json.dumps(changed)
    if rng.random() < 0.05:
        text = text.replace("0", "9" * 5000, 1)
    if rng.random() < 0.05:
        text = text.replace("0", "[" * 50_000, 1)
    path.write_text(text)


def edit_line(path, witness, rng):
    lines = path.read_text(errors="surrogateescape").split("\n")
    number = rng.randrange(len(lines))
    try:
        lines[number] = json.dumps(edit_value(json.loads(lines[number]), rng))
    except ValueError:
        lines[number] = rng.choice(["", "junk", "[]", "{}", "\x00"])
    path.write_text("\n".join(lines), errors="surrogateescape")


def edit_value(value, rng):
    """A value with one change somewhere inside: replaced, removed or added."""
    place, keys = value, []
    while isinstance(place, dict | list) and len(place) and (not keys or rng.random() < 0.8):
        key = rng.choice(sorted(place, key=str)) if isinstance(place, dict) else 0
        if isinstance(place, list):
            key = rng.randrange(len(place))
        keys.append((place, key))
        place = place[key]
    if not keys:
        return junk(rng)
    parent, key = keys[-1]
    kind = rng.random()
    if kind < 0.7:
        parent[key] = junk(rng)
    elif kind < 0.85:
        del parent[key]
    elif isinstance(parent, dict):
        parent[str(junk(rng))[:40]] = junk(rng)
    else:
        parent.append(junk(rng))
    return value


def forge(path, witness, rng):
    """A checkpoint with a true checksum and one change in its content."""
    body = path.read_bytes().split(b"\n", 2)[-1]
    try:
        content = torch.load(io.BytesIO(body), weights_only=True)
    except Exception:  # an edit before this one has left no checkpoint
        return
    content = edit_content(content, rng)
    buffer = io.BytesIO()
    torch.save(content, buffer)
    body = buffer.getvalue()
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def edit_content(content, rng):
    changed = edit_value(content, rng)
    if rng.random() < 0.2:
        tensors = [torch.zeros(3), torch.full((2, 2), torch.nan), torch.zeros(1).expand(10**10)]
        tensors += [torch.zeros(4, dtype=torch.complex64), torch.eye(3).to_sparse(), "text"]
        if isinstance(changed, dict) and isinstance(changed.get("state"), dict):
            changed["state"][rng.choice(sorted(changed["state"], key=str) or ["x"])] = rng.choice(
                tensors
            )
    return changed

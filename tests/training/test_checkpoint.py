"""Checkpoints against damaged, foreign and hostile files: the one before them is used."""

import hashlib
import io
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.training.checkpoint import CheckpointStore, CheckpointWarning
from nearsym.training.checkpoint_file import FORMAT


def test_a_resumed_run_samples_the_same(small_run, mapped, tmp_path):
    run = small_run(tmp_path, mapped).train_and_save(7, 30, 55)
    run.train(60)  # never saved
    again = small_run(tmp_path, mapped)
    assert again.resume() == 55
    again.train(70)
    assert again.sample() == small_run.unbroken(tmp_path / "other", 70)


def test_the_last_two_and_the_best_are_kept(small_run, tmp_path):
    run = small_run(tmp_path, mapped=False).train_and_save(10, 20, 30, 40, best=20)
    assert run.files() == [
        "best.ckpt", "checkpoint-000000000030.ckpt", "checkpoint-000000000040.ckpt",
    ]  # fmt: skip
    store = CheckpointStore(tmp_path / "checkpoints")
    for which, want in (("best", 20), ("last", 40)):
        state, frames = store.load(which)
        assert frames == want
        small_run.assert_state(state, want)


# ---------------------------------------------------------------------- damaged and hostile files


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def header_only(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: len(FORMAT) + 20])


def foreign(path: Path) -> None:
    torch.save({"weights": torch.zeros(3)}, path)


def other_state(path: Path) -> None:
    write_signed(path, torch_bytes({"weights": torch.zeros(3)}))


def older_under_this_name(path: Path) -> None:
    older = min(path.parent.glob("checkpoint-*.ckpt"))
    shutil.copy(older, path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def torch_bytes(content) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def write_signed(path: Path, body: bytes) -> None:
    """A file with a true checksum: what somebody with bad intent would make."""
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


@pytest.mark.parametrize(
    "damage",
    [truncate, empty, header_only, foreign, other_state, older_under_this_name, a_folder],
    ids=lambda damage: damage.__name__,
)
def test_a_bad_newest_checkpoint_gives_way_to_the_previous(small_run, damage, mapped, tmp_path):
    small_run(tmp_path, mapped).train_and_save(30, 55)
    damage(tmp_path / "checkpoints" / "checkpoint-000000000055.ckpt")
    again = small_run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning, match="000055.ckpt .* Using the checkpoint before it"):
        assert again.resume() == 30
    again.train(70)
    assert again.sample() == small_run.unbroken(tmp_path / "other", 70)


def test_every_flipped_bit_is_detected(small_run, tmp_path):
    """One bit in each of many places, the header and the end among them."""
    store = CheckpointStore(tmp_path)
    store.save(small_run.state_at(1), 1)
    path = tmp_path / "checkpoint-000000000001.ckpt"
    whole = path.read_bytes()
    places = {*range(100), *range(0, len(whole), 97), len(whole) - 1}
    for place in sorted(places):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with pytest.raises(UsageError, match=r"No checkpoint in .* can be used"):
            store.load("last")
    path.write_bytes(whole)
    small_run.assert_state(store.load("last")[0], 1)


class Boom:
    """Unpickling this calls `os.mkdir`: harmless here, anything elsewhere."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("container", ["pickle", "torch"])
def test_nothing_executable_ever_runs(small_run, container, protocol, tmp_path):
    store = CheckpointStore(tmp_path)
    store.save(small_run.state_at(1), 1)
    store.save(small_run.state_at(2), 2, best=True)
    content = {"frames": 2, "state": {"x": Boom(tmp_path / "ran")}, "replay": None}
    body = io.BytesIO()
    if container == "pickle":
        body.write(pickle.dumps(content, protocol=protocol))
    else:
        torch.save(content, body, pickle_protocol=protocol)
    for name in ("checkpoint-000000000002.ckpt", "best.ckpt"):
        write_signed(tmp_path / name, body.getvalue())
    with pytest.warns(CheckpointWarning, match=r"000002\.ckpt .*Using the checkpoint before it"):
        state, frames = store.load_latest()
    assert frames == 1
    small_run.assert_state(state, 1)
    with pytest.raises(UsageError, match="Use `checkpoint='last'`"):
        store.load("best")
    assert not (tmp_path / "ran").exists()


def test_the_refusal_says_that_nothing_ran(tmp_path):
    body = torch_bytes({"frames": 2, "state": {"x": Boom(tmp_path / "ran")}, "replay": None})
    write_signed(tmp_path / "checkpoint-000000000002.ckpt", body)
    with pytest.raises(UsageError, match="more than tensors and plain data; it was refused and"):
        CheckpointStore(tmp_path).load_latest()
    assert not (tmp_path / "ran").exists()


def test_a_bad_file_never_pushes_a_good_one_out(small_run, mapped, tmp_path):
    small_run(tmp_path, mapped).train_and_save(30, 55)
    truncate(tmp_path / "checkpoints" / "checkpoint-000000000055.ckpt")
    again = small_run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning):
        again.resume()
    again.train(40)
    again.save()  # older than the bad one
    assert again.files() == ["checkpoint-000000000030.ckpt", "checkpoint-000000000040.ckpt"]
    truncate(tmp_path / "checkpoints" / "checkpoint-000000000040.ckpt")
    with pytest.warns(CheckpointWarning):
        assert small_run(tmp_path, mapped).resume() == 30


def test_a_damaged_replay_gives_way_to_the_previous_checkpoint(small_run, mapped, tmp_path):
    small_run(tmp_path, mapped).train_and_save(30, 55)
    segment = max((tmp_path / "checkpoints" / "replay").glob("*.bin"))
    content = bytearray(segment.read_bytes())
    content[5] ^= 1
    segment.write_bytes(content)
    again = small_run(tmp_path, mapped)
    with pytest.warns(CheckpointWarning, match="does not match its checksum"):
        assert again.resume() == 30
    again.train(70)
    assert again.sample() == small_run.unbroken(tmp_path / "other", 70)


def test_none_left_is_a_clear_error(tmp_path):
    with pytest.raises(UsageError, match=r"There is no folder .*nowhere\. Name the folder of"):
        CheckpointStore(tmp_path / "nowhere").load_latest()
    store = CheckpointStore(tmp_path)
    with pytest.raises(UsageError, match=r"holds no checkpoint: .* Start a new run"):
        store.load_latest()
    with pytest.raises(UsageError, match="has no checkpoint: the run ended before its first"):
        store.load("best")
    with pytest.raises(UsageError, match=r"Unknown checkpoint 'bset'\. Did you mean 'best'"):
        store.load("bset")


def test_only_plain_data_is_taken(tmp_path):
    store = CheckpointStore(tmp_path)
    for bad, where in (
        ({"agent": {"f": len}}, r"state\['agent'\]\['f'\] is a builtin_function"),
        ({"a": [np.array([object()])]}, r"state\['a'\]\[0\] is object"),
        ({1.5: 0}, "keys are strings or ints"),
    ):
        with pytest.raises(TypeError, match=where):
            store.save(bad, 1)
    assert list(tmp_path.iterdir()) == []

"""A damaged newest checkpoint costs the time since the one before, and nothing else."""

import hashlib
import io
import os
import pickle
import shutil

import pytest
import torch

from nearsym.training.checkpoint_file import FORMAT

LOOP = "nearsym.training.loop.Trainer.run"


class Harmful:
    """Unpickled, it runs a command."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def signed(body):
    """A body with the header that a real checkpoint would have."""
    return FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def truncate(path, canary):
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path, canary):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def empty(path, canary):
    path.write_bytes(b"")


def foreign(path, canary):
    buffer = io.BytesIO()
    torch.save({"weights": torch.ones(3)}, buffer)
    path.write_bytes(buffer.getvalue())


def earlier(path, canary):
    """The checkpoint of another moment under this one's name."""
    shutil.copy(min(path.parent.glob("checkpoint-*.ckpt")), path)


def other_replay(path, canary):
    """What the checkpoint refers to is not what it was."""
    body = path.read_bytes().split(b"\n", 2)[2]
    replay = torch.load(io.BytesIO(body), weights_only=True)["replay"]
    newest = (replay["log"]["size"] - 1) // replay["replay"]["segment_length"]
    segment = path.parent.parent / "replay" / f"segment-{newest:06d}.bin"
    segment.write_bytes(bytes(segment.stat().st_size))


def harmful_pickle(path, canary):
    path.write_bytes(signed(pickle.dumps(Harmful(f"touch {canary}"))))


def harmful_archive(path, canary):
    buffer = io.BytesIO()
    torch.save({"frames": 0, "state": Harmful(f"touch {canary}"), "replay": None}, buffer)
    path.write_bytes(signed(buffer.getvalue()))


DAMAGES = {
    truncate: "does not match its checksum",
    flip: "does not match its checksum",
    empty: "is not a checkpoint of this version of nearsym",
    foreign: "is not a checkpoint of this version of nearsym",
    earlier: "against its name",
    other_replay: "does not match its checksum",
    harmful_pickle: "it was refused and nothing in it ran",
    harmful_archive: "it was refused and nothing in it ran",
}


def checkpoints(place, name):
    """Newest first."""
    return sorted(place.folder(name).glob("checkpoints/checkpoint-*.ckpt"), reverse=True)


@pytest.fixture
def cut(runs, whole):
    """A place with one run of a kind that was killed on its way."""

    def make(kind, share=0.6):
        place = runs(kind)
        moment = {"function": LOOP, "after": int(share * whole(kind)[1])}
        (left,) = place.drive(place.start("cut", moment=moment))
        assert left.code == -9
        return place

    return make


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["state, sac, memory", "pixels, drqv2, disk"])
def test_the_one_before_is_used_with_a_warning(kind, cut, whole):
    place = cut(kind)
    canary = place.folder("canary")
    for damage in DAMAGES:
        shutil.copytree(place.folder("cut"), place.folder(damage.__name__))
        damage(checkpoints(place, damage.__name__)[0], canary)
    lefts = place.drive(*(place.resume(damage.__name__) for damage in DAMAGES))
    before = checkpoints(place, "cut")[1].name
    for (damage, text), left in zip(DAMAGES.items(), lefts, strict=True):
        assert left.code == 0, left.err
        (warning,) = left.err.splitlines()
        assert text in warning, damage
        assert warning.endswith(f"Using the checkpoint before it, {before}.")
        place.outcome(damage.__name__).assert_equal(whole(kind)[0])
    assert not canary.exists()


@pytest.mark.slow
def test_none_left_is_a_clear_error(cut):
    place = cut("state, sac, memory")
    canary = place.folder("canary")
    for path in checkpoints(place, "cut"):
        harmful_archive(path, canary)
    metrics = (place.folder("cut") / "metrics.jsonl").read_bytes()
    (left,) = place.drive(place.resume("cut"))
    assert left.code == 2
    assert left.err.startswith("No checkpoint in ")
    assert left.err.endswith("Restore the folder from a copy, or start a new run.\n")
    assert left.err.count("it was refused and nothing in it ran") == 2
    assert not canary.exists()
    assert (place.folder("cut") / "metrics.jsonl").read_bytes() == metrics


@pytest.mark.slow
def test_the_checkpoint_of_another_task_is_passed_over(cut, whole):
    kind = "state, sac, memory"
    place, other = cut(kind), cut("state, drqv2, disk", share=0.9)
    newest = checkpoints(place, "cut")[0]
    stranger = checkpoints(other, "cut")[0]
    assert stranger.name > newest.name
    shutil.copy(stranger, newest.with_name(stranger.name))
    (left,) = place.drive(place.resume("cut"))
    assert left.code == 0, left.err
    assert "was trained with task.name acrobot-swingup, and config.json says reacher" in left.err
    assert f"Using the checkpoint before it, {newest.name}." in left.err
    place.outcome("cut").assert_equal(whole(kind)[0])

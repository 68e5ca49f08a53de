"""Run folders from anybody: links, pipes, edited settings, checkpoints with a true checksum and
wrong content. One sentence each, nothing outside is touched, and nothing starts over silently."""

import hashlib
import io
import json
import os
import shutil
import zipfile

import pytest
import torch

import nearsym
from nearsym.errors import RunError, UsageError
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.training.checkpoint import CheckpointWarning
from nearsym.training.checkpoint_file import FORMAT, decode
from nearsym.training.loop import Interrupted


class StopAt:
    """A request to stop that comes after so many steps of the agent."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left < 0


@pytest.fixture(scope="module")
def _cut(tmp_path_factory, _toys):
    """A run of the craft that was stopped on its way, with two checkpoints."""
    from nearsym.runs.configure import configure

    folder = tmp_path_factory.mktemp("cut") / "run"
    training = {"frames": 160, "seed_frames": 40, "eval_every": 80, "checkpoint_every": 80}
    config = configure("craft", preset="smoke", training=training, network={"hidden": 16})
    with pytest.raises(Interrupted):
        start_run(config, folder, stop_requested=StopAt(210))
    assert len([*folder.glob("checkpoints/checkpoint-*")]) == 2
    return folder


@pytest.fixture
def folder(_cut, tmp_path):
    """A copy of it in an empty place."""
    return shutil.copytree(_cut, tmp_path / "place" / "run")


def newest(folder):
    return max(folder.glob("checkpoints/checkpoint-*.ckpt"))


def everything(folder):
    return {
        path: os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


# ---------------------------------------------------------------------- links, pipes, devices


def test_an_agent_is_not_read_through_a_linked_folder(folder, tmp_path):
    (folder / "checkpoints").rename(tmp_path / "elsewhere")
    (folder / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="checkpoints is a symbolic link"):
        Run(folder).load_agent("last")


LINKED = ["lock", "metrics.jsonl", "config.json", "summary.json", "checkpoints", "replay", "tb"]
LINKED += ["replay/segment-000000.bin", "checkpoints/checkpoint-000000000080.ckpt"]


@pytest.mark.parametrize("name", LINKED)
def test_nothing_is_written_through_a_link(name, folder, tmp_path):
    place, victim = folder / name, tmp_path / "victim"
    if place.exists():
        shutil.move(place, victim)
    else:
        victim.write_text("precious")
    place.symlink_to(victim)
    before = everything(tmp_path)
    with pytest.raises(UsageError, match="is a symbolic link, and a run folder") as error:
        Run(folder).resume()
    assert str(place) in str(error.value)
    assert "\n" not in str(error.value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", ["lock", "metrics.jsonl", "config.json", "summary.json"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_is_not_opened(name, kind, folder):
    place = folder / name
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"is a .*, and a run folder holds regular files only"):
        Run(folder).resume()
    if name != "lock":
        with pytest.raises(UsageError, match="a run folder holds regular files only"):
            _ = Run(folder).metrics, Run(folder).summary


@pytest.mark.timeout(60)
@pytest.mark.parametrize("checkpoint", ["best", "last"])
def test_an_endless_checkpoint_ends(checkpoint, folder):
    for path in folder.glob("checkpoints/*.ckpt"):
        path.unlink()
        path.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="is a symbolic link"):
        Run(folder).evaluate(1, checkpoint=checkpoint)


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "short").symlink_to(folder)
    assert Run(tmp_path / "short").resume().summary["frames"] == 160


def test_what_else_lies_there_is_nobodys_business(folder, tmp_path):
    (folder / "notes").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert Run(folder).resume().summary["frames"] == 160


# ---------------------------------------------------------------------- edited configurations


def edit(folder, **changes):
    """Other values in config.json, by dotted names."""
    path = folder / "config.json"
    plain = json.loads(path.read_text())
    for name, value in changes.items():
        *sections, last = name.split("__")
        place = plain["config"]
        for section in sections:
            place = place[section]
        place[last] = value
    path.write_text(json.dumps(plain))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": 999}, "seed 0"),
        ({"algorithm__learning_rate": 0.5}, "algorithm.learning_rate 0.0003"),
        ({"network__hidden": 24}, "network.hidden 16"),
        ({"task__variant": "tilt=30"}, "task.variant None"),
        ({"training__batch_size": 17}, "training.batch_size 16"),
        ({"threads": 2}, "threads 1"),
    ],
)
def test_an_edited_setting_is_named(change, name, folder):
    edit(folder, **change)
    before = everything(folder)
    with pytest.raises(UsageError, match=f"was trained with {name}, and config.json says"):
        Run(folder).resume()
    assert {p: c for p, c in everything(folder).items() if p.name != "lock"} == {
        p: c for p, c in before.items() if p.name != "lock"
    }
    if "threads" not in change:
        with pytest.raises(UsageError, match=f"was trained with {name}"):
            Run(folder).evaluate(1)


def test_what_decides_no_number_may_change(folder):
    edit(folder, training__checkpoint_every=40, training__frames=200)
    assert Run(folder).resume().summary["frames"] == 200


def test_a_checkpoint_without_settings_still_opens(folder):
    for path in folder.glob("checkpoints/*.ckpt"):
        content = decode(path)
        del content["settings"]
        write_signed(path, body_of(content))
    assert Run(folder).resume().summary["frames"] == 160


def test_a_refused_length_is_not_written_down(folder):
    for path in folder.glob("checkpoints/checkpoint-*.ckpt"):
        path.write_bytes(b"damaged")
    before = (folder / "config.json").read_bytes()
    with pytest.raises(UsageError, match="No checkpoint in"):
        Run(folder).resume(400)
    assert (folder / "config.json").read_bytes() == before


# ---------------------------------------------------------------------- checkpoints


def body_of(content):
    from nearsym.training.packing import pack

    buffer = io.BytesIO()
    state = content["state"]
    packed = content | {"state": pack(state) if isinstance(state, dict) else state}
    torch.save(packed, buffer)
    return buffer.getvalue()


def write_signed(path, body):
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def change(where, value):
    """A change of a checkpoint's content at a path of keys; None deletes."""

    def apply(content):
        place = content
        for key in where[:-1]:
            place = place[key]
        if value is None:
            del place[where[-1]]
        else:
            place[where[-1]] = value

    return apply


def no_state(content):
    content["state"] = None


def wider(content):
    weights = content["state"]["agent"]["actor"]
    name = next(iter(weights))
    weights[name] = torch.zeros(weights[name].shape[0] + 1, *weights[name].shape[1:])


def path_in_a_name(content):
    digests = content["replay"]["log"]["sha256"]
    digests["../../../victim"] = digests.pop(0)


CONTENTS = {
    "no state": no_state,
    "no loop": change(("state", "loop"), None),
    "a loop of text": change(("state", "loop"), "junk"),
    "a fresh loop": change(("state", "loop", "frames"), 0),
    "a loop that counts in words": change(("state", "loop", "step"), "ten"),
    "a loop below zero": change(("state", "loop", "count"), -1),
    "a loop that is not finite": change(("state", "loop", "seconds"), float("nan")),
    "no agent": change(("state", "agent"), None),
    "an agent of numbers": change(("state", "agent"), 3),
    "an agent without critic": change(("state", "agent", "critic"), None),
    "another width": wider,
    "no rng": change(("state", "rng"), None),
    "a junk rng": change(("state", "rng", "state"), {"state": -1, "inc": "x"}),
    "another rng": change(("state", "rng", "bit_generator"), "MT19937"),
    "no observation": change(("state", "obs"), None),
    "an observation of text": change(("state", "obs"), "wall"),
    "no place in the log": change(("state", "log"), "end"),
    "a place within a line": change(("state", "log"), 3),
    "a place far away": change(("state", "log"), 10**15),
    "no environment": change(("state", "environment", "position"), None),
    "an environment of text": change(("state", "environment"), "nowhere"),
    "a junk generator": change(("state", "agent", "generator"), torch.zeros(3)),
    "a path in a segment's name": path_in_a_name,
    "a replay of text": change(("replay", "log", "size"), "many"),
    "a larger replay": change(("replay", "log", "size"), 10**12),
    "a replay below zero": change(("replay", "log", "size"), -5),
    "a replay without files": change(("replay", "log", "sha256"), {}),
    "no description": change(("replay", "replay"), None),
    "frames of text": change(("frames",), "90"),
    "settings of text": change(("settings",), "none"),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_true_checksum_and_wrong_content(kind, folder):
    bad = newest(folder)
    content = decode(bad)
    CONTENTS[kind](content)
    write_signed(bad, body_of(content))
    before = sorted(folder.glob("checkpoints/checkpoint-*.ckpt"))[0].name
    with pytest.warns(CheckpointWarning, match=f"Using the checkpoint before it, {before}") as said:
        run = Run(folder).resume()
    assert str(bad) in str(said[0].message)
    assert "\n" not in str(said[0].message)
    assert run.summary["frames"] == 160


def test_it_goes_on_with_the_same_numbers(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "good")
    bad = newest(folder)
    content = decode(bad)
    wider(content)
    write_signed(bad, body_of(content))
    with pytest.warns(CheckpointWarning):
        run = Run(folder).resume()
    assert run.curve().returns.tolist() == Run(tmp_path / "good").resume().curve().returns.tolist()


@pytest.mark.parametrize("kind", ["no state", "no loop", "a fresh loop", "another width"])
def test_with_none_left_it_does_not_start_over(kind, folder):
    for path in folder.glob("checkpoints/checkpoint-*.ckpt"):
        content = decode(path)
        CONTENTS[kind](content)
        write_signed(path, body_of(content))
    before = everything(folder)
    with pytest.raises(UsageError, match=r"No checkpoint in .* can be used") as error:
        Run(folder).resume()
    assert "\n" not in str(error.value)
    assert {p: c for p, c in everything(folder).items() if p.name != "lock"} == {
        p: c for p, c in before.items() if p.name != "lock"
    }


def test_lost_checkpoints_are_not_started_over(folder):
    shutil.rmtree(folder / "checkpoints")
    rows = (folder / "metrics.jsonl").read_text()
    (folder / "metrics.jsonl").write_text(rows + '{"frames": 121}\n{"frames": 122}\n')
    before = everything(folder)
    with pytest.raises(UsageError, match="has metrics and no checkpoint any more"):
        Run(folder).resume()
    after = everything(folder)
    assert after[folder / "metrics.jsonl"] == before[folder / "metrics.jsonl"]


def test_what_ended_before_its_first_checkpoint_starts_again_with_a_word(folder):
    for name in ("checkpoints", "replay"):
        shutil.rmtree(folder / name)
    (folder / "metrics.jsonl").write_text('{"frames": 20}\n{"frames": 40}\n{"frames": 80}\n')
    with pytest.warns(CheckpointWarning, match="ended before its first checkpoint: it starts"):
        assert Run(folder).resume().summary["frames"] == 160


# ---------------------------------------------------------------------- lost metrics


class Losing(nearsym.Callback):
    """Deletes the metrics of a run at its first evaluation."""

    def __init__(self, folder):
        self.path = folder / "metrics.jsonl"

    def on_evaluation(self, progress, metrics):
        if progress.frames == 80:
            self.path.unlink()


def test_metrics_that_are_deleted_end_the_run_and_are_put_back(folder, tmp_path):
    config, other = Run(folder).config, tmp_path / "losing"
    with pytest.raises(RunError, match=r"was deleted while the run wrote to it.*resume the run"):
        start_run(config, other, callbacks=[Losing(other)])
    assert Run(other).curve().frames.tolist() == [80]
    with pytest.warns(CheckpointWarning, match="ended before its first checkpoint"):
        Run(other).resume()
    whole = start_run(config, tmp_path / "whole")
    assert Run(other).curve().returns.tolist() == whole.curve().returns.tolist()


# ---------------------------------------------------------------------- sizes


def bomb(path):
    """A few kilobytes that would become a hundred megabytes."""
    content = decode(path)
    content["state"]["zeros"] = torch.zeros(25_000_000)
    whole = zipfile.ZipFile(io.BytesIO(body_of(content)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in whole.infolist():
            archive.writestr(part.filename, whole.read(part))
    write_signed(path, packed.getvalue())


def expanded(path):
    """A number that claims to be 100 GB of them."""
    content = decode(path)
    body = {"frames": content["frames"], "replay": content["replay"]}
    body["state"] = {"x": torch.zeros(1).expand(25_000_000_000)}
    buffer = io.BytesIO()
    torch.save(body, buffer)
    write_signed(path, buffer.getvalue())


class Claim:
    """Unpickled, it asks for 100 GB."""

    def __reduce__(self):
        return bytearray, (100 * 10**9,)


def allocating(path):
    buffer = io.BytesIO()
    torch.save({"frames": 90, "replay": None, "state": {"x": Claim()}}, buffer)
    write_signed(path, buffer.getvalue())


def sparse(path):
    """100 GB in which nothing is written."""
    os.truncate(path, 100 * 10**9)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", [bomb, expanded, allocating, sparse])
def test_sizes_are_checked_before_memory_is_taken(kind, folder, monkeypatch):
    monkeypatch.setattr("nearsym.training.checkpoint_file.machine_memory", lambda: 50e9)
    kind(newest(folder))
    with pytest.warns(CheckpointWarning, match="Using the checkpoint before it"):
        Run(folder).resume()


def test_nothing_is_imported_for_a_strange_folder(folder):
    edit(folder, task={"kind": "custom", "name": "payload:make"})
    with pytest.raises(UsageError, match="import the module 'payload'"):
        nearsym.Run(folder).evaluate(1)

"""What a pickle calls for is found without following it."""

import collections
import hashlib
import io
import os
import pickle
import pickletools
import zipfile

import numpy as np
import pytest
import torch

from nearsym.training.archive import _named, parts_of
from nearsym.training.checkpoint_file import FORMAT, decode, encode
from nearsym.training.packing import pack
from nearsym.training.storage import CorruptError

STATES = {
    "plain": {"a": [1, -1, 300, 2**31, -(2**70), 2**1999, 0.5, True, None, "é" * 300, b"\x00c"]},
    "nested": {"a": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {3: {"x": "y"}})},
    "tensors": {str(i): torch.zeros(i, dtype=torch.float64) for i in range(300)},
    "arrays": {"obs": np.zeros((2, 3), np.uint8), "text": np.array(["a"])},
    "ordered": torch.nn.Linear(2, 3).state_dict(),
    "shared": {"a": (same := torch.ones(2)), "b": same, "c": [same] * 300},
    "tricky": {"c__builtin__\neval\n.": "cos\nsystem\n(S'x'\ntR."},
}


def recipe_of(content):
    _, body = encode(content)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("data.pkl")]
        return archive.read(name)


@pytest.mark.parametrize("name", STATES)
def test_names_are_those_that_the_standard_library_finds(name, tmp_path):
    content = {"frames": 3, "state": pack(STATES[name]), "replay": None, "settings": None}
    recipe = recipe_of(content)
    expected = [str(arg) for code, arg, _ in pickletools.genops(recipe) if code.name == "GLOBAL"]
    assert [*_named(recipe)] == expected
    path = tmp_path / "a.ckpt"
    path.write_bytes(b"".join(encode(content)))
    assert decode(path)["frames"] == 3


class Runs:
    """Something that runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("/nowhere/that/is",)


HOSTILE = {
    "protocol 4": pickle.dumps(Runs(), 4),
    "protocol 2": pickle.dumps(Runs(), 2),
    "protocol 0": pickle.dumps(Runs(), 0),
    "bytes": b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
    "instance": b"(S'x'\nios\nsystem\n.",
    "extension": b"\x80\x02\x82\x01.",
    "counter": pickle.dumps(collections.Counter("a"), 2),
    "behind a text": b"\x80\x02X\x01\x00\x00\x00.0cos\nsystem\n.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_more_than_data_is_refused(name, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", HOSTILE[name])
        archive.writestr("archive/version", "3")
    body = buffer.getvalue()
    path = tmp_path / "a.ckpt"
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(CorruptError, match=r"more than tensors and plain data; .* nothing in it"):
        decode(path)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_recipe_that_breaks_off(cut):
    recipe = recipe_of({"a": torch.ones(3), "b": "text"})
    try:
        *_, last = _named(recipe[:-cut])
    except (ValueError, LookupError):
        return
    assert last.startswith("operation")


def test_a_number_that_torch_could_not_read_is_refused_at_the_save():
    with pytest.raises(TypeError, match=r"state\['a'\] is a int"):
        pack({"a": 2**2000})


def test_the_parts_of_what_torch_saves_are_those_that_the_standard_library_finds(monkeypatch):
    _, view = encode({"state": pack(STATES["tensors"]), "settings": {"seed": 3}})
    with zipfile.ZipFile(io.BytesIO(view)) as whole:
        expected = [(p.filename, False, p.file_size, p.header_offset) for p in whole.infolist()]
    monkeypatch.delattr(zipfile, "ZipFile")  # it is not needed
    assert parts_of(bytes(view)) == expected


def put_up(path, parts, method=zipfile.ZIP_STORED):
    """A file with a true checksum around an archive of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in parts:
            archive.writestr(name, content)
    sign(path, buffer.getvalue())


def sign(path, body):
    path.write_bytes(FORMAT + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def test_a_second_recipe_by_another_case_is_refused(tmp_path):
    path = tmp_path / "a.ckpt"
    good = recipe_of({"frames": 1, "state": {}, "replay": None, "settings": None})
    put_up(path, [("archive/data.pkl", good), ("archive/DATA.PKL", HOSTILE["counter"])])
    with pytest.raises(CorruptError, match="is no archive of tensors"):
        decode(path)


@pytest.mark.parametrize("place", range(0, 98, 3))
def test_an_end_that_was_tampered_with_is_refused_or_means_the_same(place, tmp_path):
    """Every byte of the end of an archive, and none of them lets a compressed part through."""
    _, view = encode({"frames": 1, "state": {"a": torch.ones(3)}, "replay": None})
    body = bytearray(view)
    body[len(body) - 98 + place] ^= 0x5A
    path = tmp_path / "a.ckpt"
    sign(path, bytes(body))
    try:
        assert decode(path)["frames"] == 1
    except CorruptError:
        return
    with zipfile.ZipFile(io.BytesIO(body)) as whole:
        assert [p[0] for p in parts_of(bytes(body))] == whole.namelist()


def test_an_entry_that_claims_to_be_compressed_is_refused(tmp_path):
    _, view = encode({"frames": 1, "state": {}, "replay": None})
    body = bytearray(view)
    body[body.index(b"PK\1\2") + 10] = zipfile.ZIP_DEFLATED
    sign(tmp_path / "a.ckpt", bytes(body))
    with pytest.raises(CorruptError, match="is compressed"):
        decode(tmp_path / "a.ckpt")


def test_an_entry_that_claims_more_than_there_is_is_refused(tmp_path):
    _, view = encode({"frames": 1, "state": {}, "replay": None})
    body = bytearray(view)
    at = body.index(b"PK\1\2") + 24
    body[at : at + 4] = (2**31).to_bytes(4, "little")
    sign(tmp_path / "a.ckpt", bytes(body))
    with pytest.raises(CorruptError, match="claims to hold more"):
        decode(tmp_path / "a.ckpt")


def saved(path, settings):
    """A file with settings that are anything."""
    buffer = io.BytesIO()
    torch.save({"frames": 1, "state": {}, "replay": None, "settings": settings}, buffer)
    sign(path, buffer.getvalue())


def test_settings_of_files_made_before_they_were_a_text(tmp_path):
    saved(tmp_path / "a.ckpt", {"seed": 3, "sizes": (1, 2)})
    assert decode(tmp_path / "a.ckpt")["settings"] == {"seed": 3, "sizes": [1, 2]}


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "[" * 100_000, '{"a": ' * 5000])
def test_settings_that_are_none(text, tmp_path):
    saved(tmp_path / "a.ckpt", text)
    with pytest.raises(CorruptError, match=r"holds no state of a run"):
        decode(tmp_path / "a.ckpt")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.datetime64("2020-01-01", "ns"), "datetime64"),  # which numpy itself takes for an int
        (np.timedelta64(3, "D"), "timedelta64"),
        (np.complex64(1j), "complex"),
        (np.longdouble(0.5), "longdouble"),
    ],
)
def test_scalars_that_torch_could_not_read_are_refused_at_the_save(value, kind):
    with pytest.raises(TypeError, match=rf"state\['day'\] is a {kind}"):
        pack({"day": value})


@pytest.mark.parametrize("value", [b"", b"\x00c", bytes(range(256))])
def test_bytes_come_back(value, tmp_path):
    content = {"frames": 3, "state": pack({"note": value}), "replay": None, "settings": None}
    path = tmp_path / "a.ckpt"
    path.write_bytes(b"".join(encode(content)))
    assert decode(path)["state"] == {"note": value}

"""One process at a time works on a run, on this machine or another."""

import json
import pickle
import threading
import time

import pytest

from nearsym.studies.hold import BusyError, Hold, LostError

QUICK = {"silence": 1.0, "sign_every": 0.05}


def sign(folder):
    return json.loads((folder / "sign").read_bytes())


def left_behind(folder, **changes):
    """What a process on a lost machine leaves: its sign, and no lock that anybody sees."""
    with Hold(folder, machine="far", **QUICK):
        found = sign(folder)
    (folder / "sign").write_text(json.dumps(found | changes))
    return found | changes


def test_two_on_one_machine(tmp_path):
    folder = tmp_path / "locks" / "run"
    with Hold(folder, **QUICK) as hold:
        hold.check()
        with pytest.raises(BusyError, match=r"Another process \(pid \d+ on .*\) works on it"):
            Hold(folder, **QUICK)
    Hold(folder, **QUICK).release()


def test_signs_of_life_change_while_it_is_held(tmp_path):
    with Hold(tmp_path, **QUICK):
        before = sign(tmp_path)["count"]
        time.sleep(0.3)
        assert sign(tmp_path)["count"] > before
    assert sign(tmp_path)["owner"] is None


def test_a_busy_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(BusyError("Taken.", "sign")))
    assert (str(error), error.sign) == ("Taken.", "sign")


def test_one_that_died_here_is_followed_at_once(tmp_path):
    found = left_behind(tmp_path)
    (tmp_path / "sign").write_text(json.dumps(found | {"owner": "dead", "machine": "here"}))
    started = time.monotonic()
    with Hold(tmp_path, machine="here", silence=60):
        assert time.monotonic() - started < 5


def test_a_lost_machine_is_waited_for_until_it_has_been_silent(tmp_path):
    left_behind(tmp_path, owner="lost")
    started = time.monotonic()
    with Hold(tmp_path, machine="near", **QUICK):
        assert time.monotonic() - started >= QUICK["silence"]
        assert sign(tmp_path)["machine"] == "near"


def test_a_machine_whose_lock_is_not_seen_here_but_which_lives(tmp_path):
    found = left_behind(tmp_path, owner="alive")
    ended = threading.Event()

    def live():
        while not ended.wait(0.05):
            found["count"] += 1
            (tmp_path / "next").write_text(json.dumps(found))
            (tmp_path / "next").replace(tmp_path / "sign")  # never empty, as one written in place

    thread = threading.Thread(target=live)
    thread.start()
    try:
        with pytest.raises(BusyError, match="on far"):
            Hold(tmp_path, machine="near", **QUICK)
    finally:
        ended.set()
        thread.join()


def test_who_finds_another_s_sign_gives_up(tmp_path):
    with Hold(tmp_path, machine="near", **QUICK) as hold:
        (tmp_path / "sign").write_text(json.dumps(sign(tmp_path) | {"owner": "somebody else"}))
        time.sleep(0.3)
        with pytest.raises(LostError, match="What it has saved is intact"):
            hold.check()
    assert sign(tmp_path)["owner"] == "somebody else"


def test_who_comes_back_in_the_middle_of_a_takeover_is_given_way(tmp_path):
    found = left_behind(tmp_path, owner="suspended")
    refused = []

    def take_over():
        try:
            Hold(tmp_path, machine="near", silence=0.2, sign_every=0.4).release()
        except BusyError as error:
            refused.append(error)

    thread = threading.Thread(target=take_over)
    thread.start()
    while sign(tmp_path)["machine"] == "far":
        time.sleep(0.01)
    (tmp_path / "sign").write_text(json.dumps(found))  # it renews its own sign
    thread.join()
    assert refused


def test_a_suspended_holder_that_nobody_followed_goes_on(tmp_path):
    with Hold(tmp_path, **QUICK) as hold:
        hold._shown -= 100
        hold.check()


def test_a_holder_that_cannot_write_gives_up(tmp_path):
    hold = Hold(tmp_path, **QUICK)
    (tmp_path / "sign").unlink()
    (tmp_path / "sign").mkdir()  # nobody can write a file of that name
    time.sleep(QUICK["silence"])
    with pytest.raises(LostError, match="could not show to other machines"):
        hold.check()
    (tmp_path / "sign").rmdir()
    hold.release()


@pytest.mark.parametrize("damage", ["", "{", "[]", "7"])
def test_a_damaged_sign_is_watched_and_then_replaced(tmp_path, damage):
    (tmp_path / "sign").write_text(damage)
    with Hold(tmp_path, **QUICK):
        assert sign(tmp_path)["count"] > 0


def test_who_works_on_it_may_be_unknown(tmp_path):
    with Hold(tmp_path, **QUICK):
        (tmp_path / "sign").write_text("{}")
        text = r"pid unknown on an unknown machine\) works on it"
        with pytest.raises(BusyError, match=text):
            Hold(tmp_path, **QUICK)


def test_a_sign_is_written_in_place(tmp_path):
    """Which needs no space on a disk that is full."""
    with Hold(tmp_path, **QUICK):
        size = (tmp_path / "sign").stat().st_size
        time.sleep(0.2)
        assert (tmp_path / "sign").stat().st_size == size == 256

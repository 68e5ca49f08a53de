"""Studies on a disk that is full, and a study whose processes are killed again and again."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kills import OF_STUDIES
from nearsym.studies.execute import run_study
from nearsym.studies.results import read_results
from nearsym.studies.study import Evaluation, Grid, Study
from nearsym.training.atomic import DiskError

KILLS = min(OF_STUDIES, 10)
"""Of processes that were started in the usual way; the others take less time to start."""


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 12 MB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(tmp_path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no disk can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def fill(path):
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


@pytest.mark.longer
def test_a_full_disk_is_a_sentence_and_the_same_call_goes_on(study, small_disk):
    """It fills up when the first run has ended."""
    ballast = small_disk / "ballast"

    def wait_and_fill():
        while not list(small_disk.glob("pool/*/result-*")):
            time.sleep(0.01)
        fill(ballast)

    thread = threading.Thread(target=wait_and_fill)
    thread.start()
    wanted = study(model="none", seed=range(8))
    with pytest.raises(DiskError, match=r"the disk is full\. Free some space"):
        run_study(wanted, out=small_disk, workers=1)
    thread.join()
    kept = {path: path.read_bytes() for path in small_disk.glob("pool/*/result-*")}
    assert 1 <= len(kept) < 8
    assert len(list(small_disk.glob("pool/craft*"))) < 8  # the others were not even begun
    ballast.unlink()
    again = run_study(wanted, out=small_disk, workers=1)
    assert len(again.results) == 8
    assert kept.items() <= {p: p.read_bytes() for p in small_disk.glob("pool/*/result-*")}.items()


LARGER = Grid(
    {
        "task": "craft",
        "variant": ["original", "tilt=90"],
        "model": ["none", "exact"],
        "preset": "smoke",
        "frames": 1200,
        "seed": range(2),
        "training.eval_every": 400,
        "training.checkpoint_every": 100,
    }
)
LARGE = Study(name="large", scale="smoke", grids=(LARGER,), evaluation=Evaluation(episodes=2))
DRIVER = """
import sys
from test_trouble import LARGE
from nearsym.studies.execute import run_study

if __name__ == "__main__":
    run_study(LARGE, out=sys.argv[1], workers=2, retries=100)
"""


def workers_of(pid):
    words = ["pgrep", "-P", str(pid), "-f", "spawn_main"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def environment():
    """Of a process that imports what lies beside this file."""
    place = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    return os.environ | {"PYTHONPATH": place, "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
@pytest.mark.timeout(300 + 20 * OF_STUDIES)
def test_many_random_kills_of_workers_and_drivers(tmp_path):
    """`killing.py` compares what is left with a study that was let alone."""
    wanted = OF_STUDIES - KILLS
    script = Path(__file__).with_name("killing.py")
    words = [sys.executable, str(script), str(tmp_path), str(wanted)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count = json.loads(done.stdout)
    assert count["driver"] + count["worker"] == wanted


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_random_kills_of_workers_and_drivers(tmp_path, numbers):
    """Nothing is lost, nothing is run twice, the results are the same."""
    rng, killed = random.Random(0), {"driver": 0, "worker": 0}
    script = tmp_path / "drive.py"
    script.write_text(DRIVER)
    finished = {}
    while True:
        process = subprocess.Popen(
            [sys.executable, str(script), str(tmp_path / "out")], env=environment()
        )
        while process.poll() is None and sum(killed.values()) < KILLS:
            time.sleep(rng.uniform(0.1, 3))
            victims = [("worker", pid) for pid in workers_of(process.pid)]
            victims += [("driver", process.pid)] if rng.random() < 0.3 else []
            if victims and process.poll() is None:
                who, pid = rng.choice(victims)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed[who] += 1
        code = process.wait()
        results = {p: p.read_bytes() for p in (tmp_path / "out" / "pool").glob("*/result-*")}
        assert finished.items() <= results.items()  # what is finished stays as it is
        finished = results
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert sum(killed.values()) == KILLS
    assert multiprocessing.active_children() == []
    undisturbed = run_study(LARGE, out=tmp_path / "whole", workers=2)
    disturbed = tmp_path / "out" / "large-smoke" / "results.jsonl"
    assert len(read_results(disturbed)) == len(LARGER) == 8
    assert numbers(disturbed) == numbers(undisturbed.folder / "results.jsonl")

"""Studies on a real Ray cluster: two machines that are processes of this one."""

import importlib.util
import threading
import time

import pytest

from nearsym.errors import MissingExtraError, UsageError
from nearsym.studies.cluster import ClusterTasks, _now_and_then
from nearsym.studies.execute import run_study
from nearsym.training.loop import Interrupted

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = [pytest.mark.outside, pytest.mark.skipif(not HAS_RAY, reason="needs the extra cluster")]
# Ray's own threads and sockets warn when a machine is killed.
needs_ray += [pytest.mark.filterwarnings("ignore")]
HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}


@pytest.fixture
def cluster():
    """A head that runs nothing, and two machines with one CPU each."""
    utils = pytest.importorskip("ray.cluster_utils")
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
    made = utils.Cluster(initialize_head=True, head_node_args=head)
    machines = [made.add_node(num_cpus=1) for _ in range(2)]
    yield made, machines
    made.shutdown()


def killing(machine, out):
    """Kill a machine with everything on it once a run there has saved itself."""

    def kill():
        while not list(out.glob("pool/*/checkpoints/checkpoint-*")):
            time.sleep(0.05)
        machine.kill_all_processes(check_alive=False, allow_graceful=False, wait=False)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


class TestOnACluster:
    pytestmark = needs_ray

    @pytest.mark.timeout(900)
    def test_a_machine_is_killed_in_the_middle(self, cluster, study, tmp_path, numbers):
        made, (machine, _) = cluster
        wanted = study(variant=["original", "tilt=90"], frames=1500, seed=range(2))
        thread = killing(machine, tmp_path / "far")
        far = run_study(wanted, out=tmp_path / "far", cluster=made.address)
        thread.join()
        assert not far.failures
        assert len(far.results) == far.total == 8
        near = run_study(wanted, out=tmp_path / "near", workers=1)
        assert numbers(far.folder / "results.jsonl") == numbers(near.folder / "results.jsonl")
        assert not list(far.folder.glob("stop-*"))

    @pytest.mark.timeout(600)
    def test_stopping_saves_and_going_on_gives_the_same(self, cluster, study, tmp_path):
        made, _ = cluster
        begun = lambda: bool(list(tmp_path.glob("pool/*/checkpoints/*")))  # noqa: E731
        with pytest.raises(Interrupted, match="runs are done, the others are saved"):
            run_study(study(), out=tmp_path, cluster=made.address, stop_requested=begun)
        assert not list(tmp_path.glob("mine-smoke/stop-*"))
        found = run_study(study(), out=tmp_path, cluster=made.address)
        assert len(found.results) == 4

    @pytest.mark.timeout(600)
    def test_what_the_cluster_does_not_have_is_refused(self, cluster, study, tmp_path):
        made, _ = cluster
        with pytest.raises(UsageError, match="has no machine with"):
            run_study(study(), out=tmp_path, cluster=made.address, gpus=1.0)

    def test_a_cluster_that_does_not_answer(self, tmp_path, monkeypatch):
        monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "1")
        with pytest.raises(UsageError, match="No Ray cluster answers at `cluster` 'auto'"):
            ClusterTasks("auto", tmp_path)


@pytest.mark.skipif(HAS_RAY, reason="the extra cluster is installed")
def test_without_the_extra(study, tmp_path):
    with pytest.raises(MissingExtraError, match=r"nearsym\[cluster\]"):
        run_study(study(), out=tmp_path, cluster="auto")


def test_the_disk_is_asked_once_a_second(monkeypatch):
    now, answers, asked = [100.0], iter([False, True]), []
    monkeypatch.setattr("nearsym.studies.cluster.time.monotonic", lambda: now[0])

    def ask():
        asked.append(now[0])
        return next(answers)

    stop = _now_and_then(ask)
    assert [stop(), stop(), stop()] == [False] * 3
    now[0] += 1.5
    assert [stop(), stop()] == [True] * 2
    now[0] += 9
    assert stop()
    assert asked == [100.0, 101.5]

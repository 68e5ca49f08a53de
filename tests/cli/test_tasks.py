import subprocess
import sys

from nearsym.cli import tasks
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS, parse_variant
from nearsym.tasks.robots.domains import DOMAINS as ROBOTS


def test_lists_every_task_with_its_group_and_variants():
    listed = {task["name"]: task for task in tasks.run(tasks.Tasks())["tasks"]}
    assert set(listed) == {"craft", *DOMAINS, *ROBOTS, "trading"}
    assert listed["reacher-hard"]["group"] == "D2"
    assert listed["acrobot-swingup"]["group"] == "D1"
    assert listed["trading"] == {
        "name": "trading",
        "group": "T, ST",
        "variants": [],
        "obs": ["window"],
    }
    for name, domain in DOMAINS.items():
        assert listed[name]["variants"] == list(VARIANTS)
        for variant in VARIANTS:
            parse_variant(variant, domain)
        assert set(domain.regions) <= set(VARIANTS)


def test_shows_a_table(capsys):
    tasks.show(tasks.run(tasks.Tasks()))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["task", "group", "observations", "variants"]
    assert lines[2].split()[:5] == ["acrobot-swingup", "D1", "pixels,", "state", "original,"]
    assert lines[9].split()[:4] == ["walker2d", "D1", "state", "original,"]
    assert lines[14].split() == ["trading", "T,", "ST", "window"]


def test_loads_neither_torch_nor_a_simulator():
    script = (
        "import sys; from nearsym.cli import tasks; tasks.show(tasks.run(tasks.Tasks()));"
        "sys.exit(any(name in sys.modules for name in ('torch', 'dm_control', 'mujoco')))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)

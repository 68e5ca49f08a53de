"""The examples of docs/control_tasks.md run, and its numbers are the code's."""

import re
from pathlib import Path

from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.variants import VARIANTS, WEAR

PAGE = (Path(__file__).parents[3] / "docs" / "control_tasks.md").read_text(encoding="utf-8")


def test_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(block, names)


def test_every_task_and_variant_is_described():
    for name in (*DOMAINS, *VARIANTS[1:]):
        assert f"`{name}`" in PAGE
    assert f"| {WEAR} |" in PAGE
    assert "acrobot, ball_in_cup −2; cartpole 0.2; reacher −1" in PAGE
    found = {domain.domain: domain.gravity for domain in DOMAINS.values()}
    assert found == {"acrobot": -2.0, "cartpole": 0.2, "ball_in_cup": -2.0, "reacher": -1.0}


def test_pictures_exist():
    folder = Path(__file__).parents[3] / "docs"
    pictures = re.findall(r"\]\((images/\S+)\)", PAGE)
    assert len(pictures) == 2
    assert all((folder / picture).is_file() for picture in pictures)

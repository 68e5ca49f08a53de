"""The study that the docs show runs as it stands."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")
TOML = re.compile(r"^```toml\n# (\w+\.toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.longer
def test_it_runs_at_the_scale_smoke(tmp_path):
    ((name, text),) = TOML.findall(PAGE)
    shorter = text.replace("[[grid]]", "[[grid]]\nframes = 600")
    (tmp_path / name).write_text(shorter, encoding="utf-8")
    words = f"nearsym study {name} --scale smoke --seeds 1"
    assert words in PAGE
    command = [sys.executable, "-m", *words.split(), "--workers", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["runs"] == {"total": 5, "done": 5, "failed": 0}
    assert (tmp_path / "studies" / "wind-smoke" / "results.jsonl").is_file()

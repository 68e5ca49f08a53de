"""The Python examples of README and docs run as they stand."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=lambda p: p.stem
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "example"}
    for block in BLOCK.findall(page.read_text("utf-8")):
        if block.startswith(">>>"):
            session = doctest.DocTestParser().get_doctest(block, namespace, page.stem, None, 0)
            failures, _ = doctest.DocTestRunner().run(session, clear_globs=False)
            namespace |= session.globs
            assert failures == 0
        else:
            exec(compile(block, f"<example in {page.name}>", "exec"), namespace)


@pytest.mark.slow
def test_the_demo_tells_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["demo.py", "--frames", "2500"])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["none", "exact", "approx"]
    assert Path(lines[-1].removeprefix("Look at ")).stat().st_size > 10_000

"""The Python examples of README and docs run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.longer
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

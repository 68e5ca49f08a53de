"""Draw the pictures of docs/control_tasks.md: every domain's orbit, every variant's region.

python scripts/draw_tasks.py [FOLDER]
"""

import sys
from pathlib import Path

from nearsym.studies.task_pictures import draw_orbits, draw_variants


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {"control_orbits": draw_orbits, "control_variants": draw_variants}.items():
        draw().savefig(folder / f"{name}.png", dpi=90)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()

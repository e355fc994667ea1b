"""The picture of the report for the docs, from a run of the demo.

`python -m tests.builders.report.shot STATE_DIR` makes that run's report and writes docs/report.png.
"""

import argparse
import tempfile
from pathlib import Path

from tests.builders.browser.chromium import chromium
from tests.builders.e2e.runs import ROOT
from tests.builders.io.commands import invoke
from tests.builders.report.lived import opened

PICTURE = ROOT / "docs/report.png"
SIZE = (1200, 1420)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("state", type=Path)
    options.add_argument("--to", type=Path, default=PICTURE)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name, chromium(Path(name)) as browser:
        html = Path(name) / "report.html"
        done = invoke("report", asked.state, "--html", html)
        assert done.exit_code == 0, done.output
        page = browser.page()
        page.look(*SIZE)
        opened(page, html)
        page.rest(0.5)
        page.shot(asked.to)
    print(f"{asked.to}: {asked.to.stat().st_size} bytes")


if __name__ == "__main__":
    main()

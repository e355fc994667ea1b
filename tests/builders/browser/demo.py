"""The demo as a process, and the picture of it for the README.

`python -m tests.builders.browser.demo` lets it trade for a while and writes docs/status.png.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.builders.browser.chromium import chromium
from tests.builders.e2e.runs import ROOT, start_bot

PICTURE = ROOT / "docs/status.png"
SIZE = (1200, 1010)
LIVE_S = 90


class Demo:
    """A running demo. url: of its page; token: of its controls."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str, state: Path) -> None:
        self.process = process
        self.url = url
        self.state = state

    @property
    def token(self) -> str:
        return (self.state / "control-token").read_text().strip()


@contextmanager
def running_demo(folder: Path, *, controls: bool = True) -> Iterator[Demo]:
    """The demo on free ports, with its state in `folder`; it is stopped in order at the end.
    controls: False, as in the shipped file: the page has no buttons."""
    text = (ROOT / "configs/demo.yaml").read_text()
    text = text.replace("embedded: venue.yaml", f"embedded: {ROOT / 'configs/venue.yaml'}")
    if controls:
        text = text.replace("status:\n", "status:\n  control: true\n")
    (folder / "demo.yaml").write_text(text)
    state = folder / "state"
    process = start_bot(
        "run", str(folder / "demo.yaml"), "--state-dir", str(state), "--status-port", "0",
        folder=folder,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        first = process.stdout.readline().decode()
        assert first.startswith("status page: "), first
        yield Demo(process, first.removeprefix("status page: ").strip(), state)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def main() -> None:
    """Let the demo live, look at it, and write the picture."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--for", dest="live_s", type=float, default=LIVE_S)
    options.add_argument("--to", type=Path, default=PICTURE)
    options.add_argument("--dark", action="store_true")
    options.add_argument("--width", type=int, default=SIZE[0])
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_demo(folder, controls=False) as demo, chromium(folder) as browser:
            time.sleep(asked.live_s)
            page = browser.page()
            page.look(asked.width, SIZE[1], dark=asked.dark)
            page.open(demo.url)
            page.wait("performance.getEntriesByName('picture-drawn').length")
            page.rest(2)
            page.shot(asked.to)
    print(f"{asked.to}: {asked.to.stat().st_size} bytes")


if __name__ == "__main__":
    main()

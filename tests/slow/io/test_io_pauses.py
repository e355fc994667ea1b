"""Claims about what holds up the loop of a running bot: the collector of garbage does not."""

import subprocess
import sys

from tests.builders.house.tree import ROOT

COUNTS = """
import gc

from bot.strategy.api import Strategy


class Counts(Strategy):
    name = "counts"

    def quote(self, view):
        print("walked over:", gc.get_freeze_count(), "never,", len(gc.get_objects()), "ever")
        return {}


STRATEGY = Counts
"""


def test_what_was_loaded_before_the_first_decision_is_walked_over_by_no_collection(tmp_path):
    (tmp_path / "counts.py").write_text(COUNTS)
    demo = (ROOT / "configs/demo.yaml").read_text()
    head, _, rest = demo.partition("strategy:")
    text = f"{head}strategy: {{name: ./counts.py}}\n\n{rest[rest.index('risk:') :]}"
    text = text.replace("embedded: venue.yaml", f"embedded: {ROOT / 'configs/venue.yaml'}")
    (tmp_path / "counts.yaml").write_text(text)
    words = ("run", "counts.yaml", "--for", "2s", "--status-port", "0", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    asked = [line for line in done.stderr.splitlines() if line.startswith("walked over")]
    assert asked, done.stderr[-2000:]
    frozen, walked = (int(word) for word in asked[0].split() if word.isdigit())
    assert frozen > 2 * walked

"""One recorded run for all claims about reports: it is lived once, in one worker."""

from pathlib import Path

import pytest

from bot.lab.sim.world import SimulatedWorld
from tests.builders.report.lived import lived


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> tuple[Path, SimulatedWorld]:
    """The state directory of a run that filled, held and was paid out, and its world."""
    return lived(tmp_path_factory.mktemp("report"))

"""Claims about docs/client-quickstart.md: its commands run as printed, with the output printed."""

import shutil

import pytest

from tests.builders.venue.quickstart import lasting, printed, run


def test_the_quickstart_runs_as_printed(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    outputs = run(tmp_path)
    assert len(outputs) == len(printed()) - 1 >= 8
    for (commands, shown), output in zip(printed()[1:], outputs, strict=True):
        if shown:
            assert lasting(output) == lasting(shown), commands

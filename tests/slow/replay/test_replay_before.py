"""Claims about a demo run of 18 s that a trader of before wrote as a journal of version 7."""

import gzip
import json
from pathlib import Path

import pytest

from tests.builders.io.commands import invoke

JOURNAL = Path(__file__).parents[1] / "io/corpus/v7-demo/journal-00000001.log.gz"


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / JOURNAL.stem
    path.write_bytes(gzip.decompress(JOURNAL.read_bytes()))
    return str(path)


def test_a_run_of_an_earlier_trader_is_not_replayed(journal):
    done = invoke("replay", journal)
    assert done.exit_code == 3
    assert "compare the writes: `bot replay --writes`" in done.stderr


def test_an_earlier_run_sends_the_same_writes_now_but_for_steps_back_that_leave_sooner(journal):
    done = invoke("replay", journal, "--writes", "--json")
    found = json.loads(done.stdout)
    writes = {match: sum(kinds.values()) for match, kinds in found["counts"].items()}
    assert found["writes"] == 183
    assert (writes.pop("same"), writes.pop("earlier"), writes.pop("later")) == (169, 8, 0)
    # Three places where an order that stepped back sooner takes another way from there.
    assert (sum(writes.values()), found["overtaken"]) == (7, 0)
    assert {each["place"]["entry"] // 100 for each in found["differences"]} == {7, 8, 9}

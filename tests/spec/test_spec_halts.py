"""Venue-wide stops as the interface states them, judged from outside: a venue opened in each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spec.api import Caller, buy
from tests.spec.conftest import HERE, start_site, stop_site


@pytest.fixture(scope="module", params=["halted", "cancel_only"])
def stopped(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Caller]]:
    """A user of a venue in that state, and the code its refusals carry."""
    folder: Path = tmp_path_factory.mktemp("stopped")
    text = (HERE / "venue.yaml").read_text(encoding="utf-8")
    text = text.replace("SCRATCH_RUNGS", "[{label: 1B, strike_value: 1}]")
    config = folder / "venue.yaml"
    config.write_text(text.replace("\nvenue:\n", f"\nvenue:\n  state: {request.param}\n"))
    process, site = start_site(config, folder)
    caller = Caller(site.base_url, {"X-API-KEY": site.keys["anna"]})
    yield f"venue_{request.param}", caller
    caller.close()
    stop_site(process)


def test_a_stopped_venue_refuses_creates_and_answers_reads(stopped: tuple[str, Caller]) -> None:
    code, caller = stopped
    markets = caller.get("/events/LINDEN-VAL")["events"][0]["markets"]
    assert caller.refused(**buy(markets[0])) == (409, code)
    assert caller.get("/portfolio/balance")["available_cents"] == 100_000_000


def test_the_stop_is_told_before_the_state_of_the_market(stopped: tuple[str, Caller]) -> None:
    code, caller = stopped
    rungs = caller.get("/events/MARRAM-VAL")["events"][0]["markets"]
    assert [caller.refused(**buy(rung)) for rung in rungs] == [(409, code)] * 3


def test_a_malformed_create_is_told_before_the_stop(stopped: tuple[str, Caller]) -> None:
    _, caller = stopped
    markets = caller.get("/events/LINDEN-VAL")["events"][0]["markets"]
    assert caller.refused(**buy(markets[0], price=0)) == (400, "invalid_price")

"""Claims about crashes: before and after every effect, whatever of the journal the disk has."""

import pytest

from bot.core import messages as m
from bot.core.lifecycle.open_orders import OpenOrderSync
from bot.core.settings import Strangers
from bot.io.journal.recovery import Intents
from tests.builders.io.crash_boundaries import Broken, campaign, places
from tests.builders.io.crash_world import DISKS

PLACES = 420
AGAIN_EVERY = 12
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_no_crash_duplicates_orphans_or_forgets_an_order(part):
    chosen = places(PLACES)[part::PARTS]
    counted = campaign(chosen, AGAIN_EVERY)
    assert counted["runs"] == len(chosen) * len(DISKS)


def test_the_crashes_strike_before_and_after_every_kind_of_effect():
    chosen = places(PLACES)
    assert len(chosen) * len(DISKS) >= 1_200
    doors = {photograph.door for _, photograph in chosen}
    for request in ("Create", "AmendResting", "CancelResting"):
        for when in ("before", "after"):
            assert {f"{when} effect {request}", f"{when} departure {request}"} <= doors
    assert {"before event Response", "after event Response"} <= doors
    every = {photograph.door.removeprefix("before ") for _, photograph in places(10**6)}
    sent = ("Create", "AmendResting", "CancelResting", "ReadOrder", "ReadResting", "ReadFills")
    noted = ("SubscribeTo", "WakeAt", "Noted", "OrdersAdopted", "DrainComplete")
    assert {f"effect {each}" for each in (*sent, *noted)} <= every


def test_orders_adopted_after_a_crash_are_neither_duplicated_nor_lost():
    counted = campaign(places(PLACES)[::10], AGAIN_EVERY, Strangers.ADOPT)
    assert counted["with orders kept"] >= 3


def test_a_start_that_refuses_unknown_orders_knows_its_own_after_a_crash():
    assert campaign(places(PLACES)[::35], 0, Strangers.REFUSE)["runs"] > 0


def forgetful(self: Intents) -> tuple[m.UnconfirmedCreate, ...]:
    return ()


def careless(self: OpenOrderSync, order: object, now_ns: int) -> None:
    """A start that leaves alone what rests."""


@pytest.mark.parametrize(
    ("home", "name", "broken", "told"),
    [
        (Intents, "open_creates", forgetful, "forgotten"),
        (OpenOrderSync, "_cancel", careless, "quoted beside|unmanaged|never quoted"),
    ],
)
def test_the_campaign_fails_when_a_rule_of_recovery_is_removed(
    monkeypatch, home, name, broken, told
):
    chosen = places(PLACES)[::8]
    monkeypatch.setattr(home, name, broken)
    with pytest.raises(Broken, match=told):
        campaign(chosen, 0)

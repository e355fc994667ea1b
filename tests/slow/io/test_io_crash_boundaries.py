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


def test_the_crashes_are_enough_and_strike_every_door():
    chosen = places(PLACES)
    assert len(chosen) * len(DISKS) >= 1_200
    doors = {photograph.door for _, photograph in chosen}
    for request in ("Create", "AmendResting", "CancelResting"):
        for when in ("before", "after"):
            assert {f"{when} effect {request}", f"{when} departure {request}"} <= doors
    assert {"before event Response", "after event Response"} <= doors


def test_every_kind_of_effect_that_the_trader_has_passes_the_door():
    doors = {photograph.door.removeprefix("before ") for _, photograph in places(10**6)}
    sent = ("Create", "AmendResting", "CancelResting", "ReadOrder", "ReadResting", "ReadFills")
    for effect in (*sent, "SubscribeTo", "WakeAt", "Noted", "OrdersAdopted", "DrainComplete"):
        assert f"effect {effect}" in doors


def test_orders_that_a_start_keeps_are_neither_doubled_nor_lost():
    counted = campaign(places(PLACES)[::10], AGAIN_EVERY, Strangers.ADOPT)
    assert counted["with orders kept"] >= 3


def test_a_start_that_refuses_strangers_takes_none_of_its_own_for_one():
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
def test_the_alarm_sounds_when_a_rule_is_taken_out(monkeypatch, home, name, broken, told):
    chosen = places(PLACES)[::8]
    monkeypatch.setattr(home, name, broken)
    with pytest.raises(Broken, match=told):
        campaign(chosen, 0)

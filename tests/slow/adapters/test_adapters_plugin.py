"""Claims about adapters of installed packages: found by name, used, refused in words."""

import asyncio
import importlib
import sys

import pytest

from bot.config.bot_config import ConfigFault, finish, read_draft
from bot.core import messages as m
from bot.io.adapter import (
    BUILT_IN,
    AdapterFault,
    adapter_named,
    adapter_names,
    connect,
    what_is_missing,
)
from bot.io.client.native import NativeAdapter
from tests.builders.adapters.packages import config_of, example_module, install
from tests.builders.adapters.worlds import ADDRESS, VenueUser, behind, lived
from tests.builders.house import tree
from tests.builders.shell.life import Life, Plan, assert_safe, live
from tests.builders.shell.site import Bend
from venue.wire.errors import CODES, Advice, Code
from venue.wire.names import OrderId

PAGE = tree.ROOT / "docs/another-venue.md"
VENUE = "base_url: https://venue.example/other/v3\n  key_env: NO_SUCH_KEY"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package of one module, which names an adapter of this name."""
    added = []

    def installed_as(name: str, module: str, text: str) -> None:
        added.append(module)
        install(tmp_path, name, module, text, "ExampleVenue")
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield installed_as
    for module in added:
        sys.modules.pop(module, None)


@pytest.fixture
def example(installed):
    """The adapter that docs/another-venue.md prints."""
    installed("example", "example_venue", example_module(PAGE))
    return adapter_named("example")


class OwnCodes(Bend):
    """A venue with an error code of its own for an order that it does not know."""

    async def rest(self, method, path, query, body, ask):
        status, headers, answer = await ask(method, path, query, body)
        return status, headers, answer.replace(b'"order_not_found"', b'"never_heard_of_it"')


def test_the_built_in_adapter_has_every_capability():
    assert adapter_named(BUILT_IN).capabilities == m.VenueCapabilities(True, True, True, True)
    assert isinstance(adapter_named(BUILT_IN), NativeAdapter)


def test_the_printed_example_is_about_thirty_lines_and_is_found_by_its_name(example):
    assert len(example_module(PAGE).splitlines()) < 45
    assert "example" in adapter_names()
    assert not example.capabilities.amend_keeps_place


def test_the_printed_example_maps_codes_of_its_venue_to_what_may_be_done(example):
    async def scenario(user: VenueUser) -> None:
        order = await user.create(61, 10)
        assert (await user.read(order.order_id)).remaining_qty == 10
        answer = await user.ask(m.CancelResting(OrderId("9" * 20)))
        assert isinstance(answer, m.Rejected)
        assert CODES[Code(answer.code)].advice is Advice.LOOK_AGAIN
        assert answer.message == "never_heard_of_it"

    lived(behind(lambda: connect(example, ADDRESS, 4), OwnCodes()), scenario)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_bot_sends_amends_only_to_a_venue_where_they_keep_their_place(keeps):
    able = m.VenueCapabilities(amend_keeps_place=keeps)

    async def act(life: Life) -> None:
        for _ in range(3):
            await asyncio.sleep(1.0)
            life.shift(3)

    life = live(Plan(seed=3, act=act, capabilities=able))
    assert_safe(life)
    assert life.sent(m.Create)
    assert bool(life.sent(m.AmendResting)) is keeps
    (started,) = (each.message for each in life.entries if isinstance(each.message, m.Started))
    assert started.capabilities.amend_keeps_place is keeps


# --- refusals -------------------------------------------------------------------------------------


def faults_of(tmp_path, adapter: str) -> str:
    path = config_of(tmp_path, adapter, VENUE)
    with pytest.raises(ConfigFault) as refused:
        finish(read_draft(path))
    return str(refused.value)


def test_an_unknown_adapter_is_refused_with_its_key_and_the_accepted_names(tmp_path, example):
    faults = faults_of(tmp_path, "kalshy")
    assert "bot.yaml:5: venue.adapter: 'kalshy'; accepted: laddermaker, example" in faults
    with pytest.raises(AdapterFault, match="accepted: laddermaker, example"):
        adapter_named("kalshy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_the_kind\n", "ModuleNotFoundError"),
        ("class Other: ...\n", "AttributeError"),
        ("class ExampleVenue:\n    def __init__(self): raise ValueError('no')\n", "ValueError: no"),
    ],
    ids=["import", "name", "making"],
)
def test_an_adapter_that_cannot_be_made_is_named_with_its_package(tmp_path, installed, text, said):
    installed("broken", "broken_venue", text)
    faults = faults_of(tmp_path, "broken")
    assert "bot.yaml:5: venue.adapter: broken of the package broken_venue" in faults
    assert said in faults


def test_a_configuration_with_an_installed_adapter_takes_any_base_url(tmp_path, example):
    venue = finish(read_draft(config_of(tmp_path, "example", VENUE))).venue
    assert (venue.adapter, venue.base_url, venue.stream_url) == (
        "example", "https://venue.example/other/v3", "",
    )  # fmt: skip


def test_the_built_in_adapter_cannot_be_replaced_by_a_package(installed):
    installed(BUILT_IN, "impostor", "class ExampleVenue: ...\n")
    assert isinstance(adapter_named(BUILT_IN), NativeAdapter)
    assert adapter_names().count(BUILT_IN) == 1


@pytest.mark.parametrize(
    ("lacks", "said"),
    [("idempotent_ids", "could rest twice"), ("whole_cents", "no whole cents")],
)
def test_a_venue_without_what_trading_needs_is_refused_and_says_why(lacks, said):
    able = m.VenueCapabilities(**{lacks: False})
    assert said in what_is_missing(able)
    assert what_is_missing(m.VenueCapabilities()) == ""


def test_on_paper_a_venue_needs_no_idempotent_ids():
    able = m.VenueCapabilities(idempotent_ids=False)
    assert what_is_missing(able, paper=True) == ""
    assert what_is_missing(m.VenueCapabilities(whole_cents=False), paper=True)

"""Claims about planted bugs: the simulator finds them."""

import inspect
import shutil
from pathlib import Path

import pytest

import bot.core
from bot.lab.sim.scenario import draw, often
from tests.builders.sim import simulation_page
from tests.mutants import hunt as bugs
from tests.mutants.bug import planted
from tests.mutants.hunt import BUGS, CANARY, EVENTS_MAX, Found

BUGS_MIN = 35


@pytest.mark.parametrize("bug", bugs.rotating(), ids=lambda bug: bug.name)
def test_the_simulator_finds_each_planted_bug(bug):
    found = bugs.hunt(bug)
    assert found.is_found
    assert found.invariant in bug.breaks, found.text
    assert found.events <= EVENTS_MAX


def test_the_simulator_finds_a_bot_that_quotes_around_a_date_that_halts_it():
    found = bugs.hunt(bugs.named("dates-are-ignored"))
    assert found.invariant == "B4"
    assert "around a date that halts its event" in found.text


def test_the_canary_bug_is_found_again_in_its_seed():
    found = bugs.hunt(CANARY)
    again, _ = bugs.hunt_in(CANARY, found.seed)
    assert again.is_found
    assert again.text == found.text


def test_the_summary_of_a_hunt_counts_the_bugs_found():
    found = bugs.hunt(bugs.named("retry-after-ignored"))
    assert bugs.summary([found]).startswith("1 of 1 planted bugs found; median ")
    missed = Found("x", (1,), EVENTS_MAX)
    assert bugs.summary([found, missed]).startswith("1 of 2")
    assert "NOT FOUND" in bugs.line(missed)


# --- the table ------------------------------------------------------------------------------------


def test_planted_bugs_are_numerous_and_uniquely_named():
    assert len(BUGS) >= BUGS_MIN
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", (*BUGS, CANARY), ids=lambda bug: bug.name)
def test_each_planted_bug_is_described_and_patches_existing_code(bug):
    assert set(bug.rows) <= set(range(1, 81))
    assert bug.mistake.endswith(".")
    assert bug.breaks
    often(draw(0), bug.likely)
    for patch in bug.patches:
        assert patch.name in vars(patch.home)
    with planted(bug.patches):
        assert all(vars(each.home)[each.name] is each.value for each in bug.patches)


def called_as(member: object) -> inspect.Signature | None:
    """How a member of a class or module is called; None where it is no function."""
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    return inspect.signature(member) if inspect.isfunction(member) else None


@pytest.mark.parametrize("bug", (*BUGS, CANARY), ids=lambda bug: bug.name)
def test_each_planted_bug_keeps_the_signature_it_replaces(bug):
    for patch in bug.patches:
        there, instead = called_as(vars(patch.home)[patch.name]), called_as(patch.value)
        if there is None or instead is None:
            continue
        every = there.parameters.values()
        for some in (every, [each for each in every if each.default is each.empty]):
            named = {each.name: None for each in some if each.kind is each.KEYWORD_ONLY}
            instead.bind(*[None] * (len(some) - len(named)), **named)


def test_changed_core_code_selects_other_rotating_bugs(tmp_path, monkeypatch):
    """Wherever in it a line is another one."""
    first = bugs.rotating()
    assert len(first) == bugs.ROTATING
    assert first == bugs.rotating()
    assert bugs.rotating(len(BUGS)) == BUGS
    (copied,) = map(Path, bot.core.__path__)
    shutil.copytree(copied, tmp_path / "core")
    monkeypatch.setattr(bot.core, "__path__", [str(tmp_path / "core")])
    assert bugs.rotating() == first
    with (tmp_path / "core" / "orders" / "order.py").open("a", encoding="utf-8") as file:
        file.write("# another line\n")
    assert bugs.rotating() != first


def test_the_simulation_page_is_current():
    assert simulation_page.PAGE.read_text(encoding="utf-8") == simulation_page.page()

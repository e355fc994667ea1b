"""Claims about `bot replay --explain`: the decision behind the first effect that differs."""

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.core import messages as m
from bot.io.journal.journal import read_journal
from bot.io.journal.records import OPENING, Entry, Head, framed
from bot.lab.session import runs_meant
from tests.replay.recorded import brutal, recorded
from venue.wire.instant import NS_PER_SECOND


def invoke(path: Path, *options: str):
    return CliRunner().invoke(app, ["replay", str(path), "--explain", "--quiet", *options])


@pytest.fixture(scope="module")
def entries(tmp_path_factory) -> list[Entry]:
    """The newest life of a short world."""
    folder = tmp_path_factory.mktemp("differs") / "state"
    recorded(brutal(11, NS_PER_SECOND // 2), folder)
    return list(read_journal(runs_meant(folder, every=False)[0].paths[0]))


def journal(folder: Path, entries: list[Entry]) -> Path:
    """A segment of these entries."""
    path = folder / "journal-00000001.log"
    path.write_bytes(b"".join((OPENING, framed(Head(0, ())), *map(framed, entries))))
    return path


def asked(entries: list[Entry], kind: type) -> int:
    """Where the request of a kind in the middle of a run stands."""
    places = [
        at
        for at, entry in enumerate(entries)
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, kind)
    ]
    return places[len(places) // 2]


def without(entries: list[Entry], at: int) -> list[Entry]:
    """The entries without the last effects of an event, from one on."""
    last = next(n for n in range(at, len(entries)) if isinstance(entries[n].message, m.Event))
    return [*entries[:at], *entries[last:]]


@pytest.mark.parametrize("kind", [m.Create, m.CancelResting])
def test_a_request_that_was_not_made_then_is_explained_as_it_is_made_now(entries, tmp_path, kind):
    at = asked(entries, kind)
    path = journal(tmp_path, without(entries, at))
    (told,) = json.loads(invoke(path, "--json").stdout)["explained"]
    decision = told["decision"]
    assert told["side"] == "now"
    assert told["deed"]["why"] == entries[at].message.why
    assert decision["token"]["nth"] >= 1
    assert decision["choice"]["why"]
    events = [entry for entry in entries[:at] if isinstance(entry.message, m.Event)]
    assert decision["number"] == len(events)


def test_the_chain_is_told_from_frame_to_token(entries, tmp_path):
    at = asked(entries, m.Create)
    done = invoke(journal(tmp_path, without(entries, at)))
    assert done.exit_code == 4
    head, _, chain = done.stdout.partition("why the order of now, as it is decided now: create")
    assert "no further effect" in head
    for link in ("frame", "belief", "curve", "skew", "limit", "reconcile", "token"):
        assert f"\n  {link} " in chain


def test_an_order_that_is_not_made_now_is_told_with_what_is_wanted_there_now(entries, tmp_path):
    at = asked(entries, m.Create)
    last = next(n for n in range(at + 1, len(entries)) if isinstance(entries[n].message, m.Event))
    order = entries[at].message.request.order
    named = msgspec.structs.replace(order, client_order_id=f"{order.client_order_id[:-3]}999")
    request = msgspec.structs.replace(entries[at].message.request, order=named)
    more = msgspec.structs.replace(
        entries[at].message, request=request, request_id=m.RequestId(999_999)
    )
    path = journal(tmp_path, [*entries[:last], Entry(entries[at].at_ns, more), *entries[last:]])
    (told,) = json.loads(invoke(path, "--json").stdout)["explained"]
    assert told["side"] == "then"
    assert told["decision"]["choice"] is None


def test_where_both_sides_are_of_one_rung_and_side_it_is_told_once(entries, tmp_path):
    at = asked(entries, m.Create)
    other = msgspec.structs.replace(entries[at].message, why="another reason")
    path = journal(tmp_path, [*entries[:at], Entry(entries[at].at_ns, other), *entries[at + 1 :]])
    (told,) = json.loads(invoke(path, "--json").stdout)["explained"]
    assert told["side"] == "both"
    assert told["deed"]["why"] == entries[at].message.why


def test_an_effect_about_no_order_has_no_such_chain(entries, tmp_path):
    at = next(n for n, entry in enumerate(entries) if isinstance(entry.message, m.WakeAt))
    path = journal(
        tmp_path, [*entries[:at], Entry(entries[at].at_ns, m.WakeAt(1)), *entries[at + 1 :]]
    )
    done = invoke(path, "--json")
    assert done.exit_code == 4
    assert "explained" not in json.loads(done.stdout)


def test_where_nothing_differs_nothing_is_explained(entries, tmp_path):
    done = invoke(journal(tmp_path, entries))
    assert done.exit_code == 0
    assert "as it is decided now" not in done.stdout

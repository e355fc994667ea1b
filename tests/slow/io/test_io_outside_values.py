"""The poller of values from outside: what it gives the trader, and what it survives."""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress

import pytest

from bot.core import messages as m
from bot.io.outside_values import (
    OutsidePoller,
    PolledSource,
    SourceFault,
    read_whole,
    values_of,
)
from bot.io.state.atomic_file import FILE_BYTES_MAX
from tests.builders.io.hostile import Talk, hostile, says
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND, to_ns
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio
AT = "2026-11-29T20:00:00Z"
AT_NS = to_ns(AT)
SERIES = Ticker("ACME-VAL")
RUNG = Ticker("ACME-VAL-27Q1-200B")


def row(**changes: object) -> dict[str, object]:
    wanted = {"about": SERIES, "dollars": 213.5e9, "sd": 2e9, "at": AT, "ttl_s": 60, **changes}
    return {key: value for key, value in wanted.items() if value is not None}


def content(*rows: dict[str, object]) -> bytes:
    return json.dumps({"values": rows or [row()]}).encode()


VALUE = m.OutsideValue(
    "model", SERIES, m.ValueUnit.DOLLARS, 213.5e9, 2e9, AT_NS, AT_NS + 60 * NS_PER_SECOND
)


class Inbox:
    """The events given so far."""

    def __init__(self) -> None:
        self.events: list[m.Event] = []
        self._came = asyncio.Event()

    def give(self, event: m.Event) -> None:
        self.events.append(event)
        self._came.set()

    async def until(self, wanted: Callable[[list[m.Event]], bool]) -> None:
        async with asyncio.timeout(5):
            while not wanted(self.events):
                self._came.clear()
                await self._came.wait()


@asynccontextmanager
async def polled(inbox: Inbox, *sources: PolledSource):
    poller = asyncio.ensure_future(OutsidePoller(sources, inbox.give).run())
    try:
        yield poller
    finally:
        poller.cancel()
        with suppress(asyncio.CancelledError):
            await poller


def at(file=None, url=None) -> PolledSource:
    return PolledSource("model", file, url, 10 * NS_PER_MS)


def test_a_file_states_dollars_and_chances_by_subject():
    raw = content(row(), row(about=RUNG.lower(), dollars=None, chance=0.62, sd=0.03))
    assert values_of(raw, "model") == {
        SERIES: VALUE,
        RUNG: m.OutsideValue("model", RUNG, m.ValueUnit.CHANCE, 0.62, 0.03, AT_NS, VALUE.until_ns),
    }


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "not as docs/operations.md has it"),
        (content()[:-3], "not as docs/operations.md has it"),
        (b"\xff", "not as docs/operations.md has it"),
        (b"[]", "not as docs/operations.md has it"),
        (content(row(sd=None)), "missing required field `sd`"),
        (content(row(weight=1)), "unknown field `weight`"),
        (content(row(chance=0.5)), "values.0.dollars: exactly one of dollars and chance"),
        (content(row(dollars=None)), "values.0.dollars: exactly one of dollars and chance"),
        (content(row(), row(about="a b")), "values.1.about: 'a b'; accepted: the ticker"),
        (content(row(), row()), "values.1.about: ACME-VAL twice"),
        (content(row(at="yesterday")), "values.0.at: 'yesterday'; accepted: an instant"),
        (content(row(ttl_s=0)), "values.0.ttl_s: 0; accepted: 1 to"),
        (content(*(row(about=f"A{n}") for n in range(257))), "257 values; accepted: at most 256"),
    ],
)
def test_a_content_with_any_fault_is_refused_whole(raw, text):
    with pytest.raises(SourceFault) as raised:
        values_of(raw, "model")
    assert text in str(raised.value)


async def test_each_change_of_a_file_is_given_once(tmp_path):
    inbox, file = Inbox(), tmp_path / "values.json"
    file.write_bytes(content(row(), row(about=RUNG)))
    async with polled(inbox, at(file)):
        await inbox.until(lambda events: len(events) == 2)
        file.write_bytes(content(row(dollars=214e9)))
        await inbox.until(lambda events: len(events) == 4)
        await asyncio.sleep(0.05)
    assert inbox.events[0] == VALUE
    assert inbox.events[2] == m.OutsideValueCleared("model", RUNG)
    assert inbox.events[3].value == 214e9
    assert len(inbox.events) == 4


async def test_a_half_written_file_is_a_fault_and_withdraws_nothing(tmp_path):
    inbox, file = Inbox(), tmp_path / "values.json"
    file.write_bytes(content())
    async with polled(inbox, at(file)):
        await inbox.until(lambda events: len(events) == 1)
        file.write_bytes(content()[:-3])
        await inbox.until(lambda events: len(events) == 2)
        file.write_bytes(content())
        await inbox.until(lambda events: len(events) == 3)
        file.unlink()
        await inbox.until(lambda events: len(events) == 4)
    assert inbox.events[0] == VALUE
    assert str(file) in inbox.events[1].fault
    assert inbox.events[2] == m.OutsideSourceRead("model")
    assert inbox.events[3].fault == f"{file}: cannot be read: No such file or directory"


def test_only_a_file_of_a_bounded_length_is_read(tmp_path):
    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)
    long.write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    for path, text in ((pipe, "not a file"), (tmp_path, "not a file"), (long, "longer than")):
        with pytest.raises(SourceFault, match=text):
            read_whole(path)


@pytest.mark.parametrize(
    ("talk", "fault"),
    [
        (says(200, content()), ""),
        (says(302, b"", "Location: /elsewhere"), "status 302"),
        (says(500, content()), "status 500"),
        (says(200, b"<html>"), "not as docs/operations.md has it"),
        (says(200, b"x" * (FILE_BYTES_MAX + 1)), "longer than"),
    ],
    ids=["values", "redirect", "error", "html", "long"],
)
async def test_an_address_counts_with_a_whole_answer_of_its_own_alone(talk: Talk, fault):
    inbox = Inbox()
    async with hostile(talk) as site, polled(inbox, at(url=site.base_url)):
        await inbox.until(lambda events: bool(events))
        await asyncio.sleep(0.03)
    assert b"GET /v1 " in site.requests[0]
    assert b"elsewhere" not in b"".join(site.requests)
    (event,) = inbox.events
    assert event == VALUE if not fault else fault in event.fault


async def test_a_source_that_fails_in_an_unknown_way_ends_neither_itself_nor_others(tmp_path):
    inbox, file = Inbox(), tmp_path / "values.json"
    file.write_bytes(content())
    events: list[m.Event] = []

    def give(event: m.Event) -> None:
        if isinstance(event, m.OutsideValue) and not events:
            events.append(event)
            raise RuntimeError("once")
        inbox.give(event)

    poller = asyncio.ensure_future(OutsidePoller([at(file)], give).run())
    await inbox.until(lambda found: VALUE in found)
    assert not poller.done()
    poller.cancel()
    assert m.OutsideSourceRead("model", "it could not be read: see the log") in inbox.events

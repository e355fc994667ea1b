"""Claims about `bot record` on a real venue: nothing but reads arrives there, whatever rests.

A proxy stands between, which notes every request and cuts the channel once.
"""

import asyncio
import contextlib
import json
import re
import signal
import time
from unittest import mock
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from bot.cli import record
from bot.cli.main import app
from bot.core import messages as m
from bot.io.adapter import Connection
from bot.io.clock import Clock
from bot.io.journal.journal import read_journal, segments
from bot.io.journal.records import Entry, JournalFault
from bot.io.run.recording import Recorded as Summary
from bot.io.run.recording import Recording, WriteFault
from tests.builders.e2e.proxy import Proxy
from tests.builders.e2e.runs import config_for, running_venue, start_bot, summary_of, wait_until
from tests.builders.io.samples import ORDER_ID, create, sent
from tests.builders.record.made import SETTINGS, journal
from venue.wire.names import Ticker

pytestmark = pytest.mark.xdist_group("record")

CUT_S = 1.5


class Noting(Proxy):
    """Passes everything on and notes it; the first channel is cut after a while."""

    def __init__(self, target_port: int) -> None:
        super().__init__(target_port, 0)
        self.requests: list[tuple[str, str]] = []

    async def _request(self, request, writer, up_reader, up_writer) -> None:
        method, target, _ = request.split(b" ", 2)
        self.requests.append((method.decode(), target.decode().partition("?")[0]))
        writer.write(await self._forward(request, up_reader, up_writer))

    async def _pipe(self, reader, writer, up_reader, up_writer) -> None:
        self.seen["channels"] += 1
        lasts_s = CUT_S if self.seen["channels"] == 1 else 60.0

        async def one_way(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()

        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(lasts_s):
                await asyncio.gather(one_way(reader, up_writer), one_way(up_reader, writer))


class Recorded:
    """A recording that was stopped by a signal, and the account before and after it."""

    def __init__(self, folder) -> None:
        with running_venue(folder, 7) as venue:
            self.placed = _place(venue, 5)
            self.before = venue.orders("resting")
            with Noting(urlsplit(venue.base_url).port) as proxy:
                config = config_for(venue, folder)
                direct = urlsplit(venue.base_url).netloc
                text = config.read_text().replace(direct, f"127.0.0.1:{proxy.port}")
                config.write_text(text)
                self.state = folder / "recorded"
                process = start_bot(
                    "record", str(config), "--state-dir", str(self.state), "--json", folder=folder
                )
                wait_until(lambda: proxy.seen["channels"] == 2, 120)
                wait_until(lambda: len(proxy.requests) >= 6, 120)
                time.sleep(1.0)
                process.send_signal(signal.SIGTERM)
                self.summary = summary_of(process, 60)
                self.code = process.returncode
                self.requests = list(proxy.requests)
            self.after = venue.orders("resting")
            self.key = venue.keys["maker"]
        self.entries = [
            entry.message for path in segments(self.state) for entry in read_journal(path)
        ]


def _place(venue, count: int) -> list[str]:
    """Orders of the maker that rest from before."""
    headers = {"X-API-KEY": venue.keys["maker"]}
    market = venue.get("/markets", series_ticker="AURELIA-VAL")["markets"][0]
    ids = []
    for number in range(count):
        order = {"market_id": market["market_id"], "outcome": "yes", "side": "buy", "qty": 1}
        order |= {"price": 1, "client_order_id": f"by-hand-{number}"}
        answer = httpx.post(f"{venue.base_url}/orders", json=order, headers=headers, timeout=60,
                            trust_env=False)  # fmt: skip
        assert answer.status_code == 201
        ids.append(answer.json()["order_id"])
    return ids


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("record"))


def test_a_recording_sends_only_get_requests(recorded):
    assert len(recorded.requests) >= 6
    assert {method for method, _ in recorded.requests} == {"GET"}


def test_a_recording_leaves_resting_orders_unchanged(recorded):
    assert sorted(order["order_id"] for order in recorded.before) == sorted(recorded.placed)
    assert recorded.after == recorded.before


def test_a_recording_stopped_by_a_signal_exits_with_0_and_a_summary(recorded):
    books = [entry for entry in recorded.entries if isinstance(entry, m.BookUpdate)]
    assert recorded.code == 0
    assert recorded.summary["books"] == len(books) > 0
    assert recorded.summary["gaps"] == 1
    assert recorded.summary["private"] is True
    assert recorded.summary["died"] == []


def test_a_recording_resubscribes_to_every_book_after_a_disconnect(recorded):
    closed = next(
        place for place, entry in enumerate(recorded.entries) if isinstance(entry, m.FeedClosed)
    )
    (listed,) = {entry.rungs for entry in recorded.entries if isinstance(entry, m.SubscribeTo)}
    for part in (recorded.entries[:closed], recorded.entries[closed:]):
        assert any(isinstance(entry, m.SubscribeTo) for entry in part)
    first = [each.market_id for each in recorded.entries[:closed] if isinstance(each, m.BookUpdate)]
    assert set(first) == set(listed)


def test_a_recording_contains_the_account_but_not_the_api_key(recorded):
    bodies = [
        entry.answer.body
        for entry in recorded.entries
        if isinstance(entry, m.Response) and isinstance(entry.answer, m.Ok)
    ]
    resting = next(body for body in bodies if isinstance(body, m.OrdersBody))
    assert sorted(order.order_id for order in resting.orders) == sorted(recorded.placed)
    kinds = {type(body) for body in bodies}
    assert kinds >= {m.SeriesBody, m.BalanceBody, m.PositionsBody, m.FillsBody}
    written = b"".join(path.read_bytes() for path in recorded.state.glob("journal-*"))
    assert recorded.key.encode() not in written


def test_a_recording_replays_without_differences(recorded):
    done = CliRunner().invoke(app, ["replay", str(recorded.state), "--quiet", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["difference"]) == (0, None)
    assert told["ended"] is True
    assert told["events"] > recorded.summary["books"]


def test_pnl_of_a_recording_says_that_nothing_was_traded(recorded, tmp_path):
    config = next(recorded.state.parent.glob("bot.yaml"))
    done = CliRunner().invoke(app, ["pnl", str(config), "--state-dir", str(recorded.state)])
    assert done.exit_code == 3
    assert "a recording: nothing was traded in it" in done.stderr


def test_a_recording_can_be_exported_and_backtested(recorded, tmp_path):
    tables = tmp_path / "tables"
    done = CliRunner().invoke(app, ["export", str(recorded.state), "--csv", str(tables), "--json"])
    assert json.loads(done.stdout)["books"] >= recorded.summary["books"]
    config = next(recorded.state.parent.glob("bot.yaml"))
    played = CliRunner().invoke(
        app,
        ["backtest", "--data", str(recorded.state), "--config", str(config), "--json",
         "--queue-model", "pessimistic", "--records", "40"],
    )  # fmt: skip
    assert played.exit_code in (0, 4), played.stderr
    told = json.loads(played.stdout)
    # A book that is shown again unchanged is no record of a tape.
    books, prints = re.findall(r"(\d+) (?:books|prints)", told["notes"][0])
    assert 0 < int(books) <= recorded.summary["books"]
    assert int(prints) == recorded.summary["prints"]
    assert all(0 < row["records"] <= 40 for row in told["results"])


def test_recording_is_refused_where_a_bot_left_open_orders(tmp_path):
    (path,) = journal(tmp_path / "s", [Entry(5, sent(create()))])
    before = path.read_bytes()
    configured = m.Configuration(SETTINGS, m.StrategyChoice("x", "{}"), "0")
    with pytest.raises(JournalFault, match="orders to settle"):
        Recording(configured, None, None, path.parent, segment_bytes=9, segments_kept=9)
    assert path.read_bytes() == before
    assert segments(path.parent) == [path]


@pytest.mark.anyio
@pytest.mark.parametrize("request_", [create(), m.CancelResting(ORDER_ID)])
async def test_a_recording_raises_instead_of_sending_a_write(request_, tmp_path):
    asked = []

    class Client:
        def start(self, send, answered):
            asked.append(send)

    configured = m.Configuration(SETTINGS, m.StrategyChoice("x", "{}"), "0")
    connection = Connection(Client(), lambda tell: None)
    recording = Recording(configured, Clock(), connection, tmp_path,
                          segment_bytes=10**6, segments_kept=9)  # fmt: skip
    with (
        mock.patch.object(recording.observer, "receive", lambda *_: [sent(request_)]),
        pytest.raises(WriteFault),
    ):
        recording.tell(m.Tick())
    assert asked == []


@pytest.mark.parametrize(
    ("private", "died", "said"),
    [(True, (), "private: yes\ndied: none\n"), (False, ("a", "b"), "private: no\ndied: a, b\n")],
)
def test_record_prints_a_readable_summary(monkeypatch, private, died, said):
    found = Summary(Ticker("ACME-VAL"), "there", "n", 1.5, 2, 3, 0, private, died)
    monkeypatch.setattr(record, "record_series", lambda *_: found)
    done = CliRunner().invoke(app, ["record", "any.yaml"])
    assert done.exit_code == (1 if died else 0), done.output
    assert done.stdout.endswith("gaps: 0\n" + said)

"""V21: every book frame is the engine's book at its `ts`; the prints add up to `volume_usd`."""

import asyncio
import random
from bisect import bisect_left
from collections import defaultdict

import pytest

from tests.builders.core.histories import USERS
from tests.builders.laws.running import (
    LATER,
    MARKETS,
    Caller,
    Flow,
    Listener,
    engine_of,
    on_virtual_time,
    running,
)
from venue.wire.money import BookSide


class Books:
    """The engine's ladders after every batch."""

    def __init__(self, venue):
        self._venue = venue
        self._noted_ns, self._ladders = [], []
        self.note()

    def note(self):
        """Take down what the batch just answered has left behind."""
        engine, ladders = engine_of(self._venue), {}
        for market_id in engine.market_ids:
            bids, asks = (engine.depth(market_id, side) for side in BookSide)
            yes = [{"price": price, "size": size} for price, size in bids]
            no = [{"price": 100 - price, "size": size} for price, size in asks]
            ladders[market_id] = (yes, no)
        self._noted_ns.append(self._venue.now_ns())
        self._ladders.append(ladders)

    def at(self, market_id, ts):
        """What the batch carried out at `ts` left behind: the first one noted after it."""
        return self._ladders[bisect_left(self._noted_ns, ts)][market_id]

    def now(self, market_id):
        """The ladders as they are."""
        return self._ladders[-1][market_id]


@pytest.mark.parametrize(("seed", "lag_ms", "flush_ms"), [(31, 0, 5), (32, 15, 5), (33, 0, 40)])
@on_virtual_time
async def test_every_book_frame_is_the_engines_book_at_its_ts(seed, lag_ms, flush_ms):
    async with running(lag_ms, flush_ms) as venue:
        flow, draw, books = Flow(venue, seed), random.Random(seed), Books(venue)
        listeners = [Listener(venue, MARKETS + LATER), Listener(venue, MARKETS[:1])]
        for step in range(400):
            await flow.send(1)
            books.note()
            await asyncio.sleep(draw.choice((0, 0.001, 0.004, 0.03)))
            if draw.random() < 0.5:
                listeners[0].take()
            if step == 200:
                listeners.append(Listener(venue, MARKETS))
        await asyncio.sleep((lag_ms + 2 * flush_ms) / 1000)
        for listener in listeners:
            listener.take()
            newest = {}
            for frame in listener.of("prediction-orderbook"):
                market_id = frame["eventMarketId"]
                shown = (frame["yes"], frame["no"])
                assert shown == books.at(market_id, frame["ts"])
                last_ts, last_shown = newest.get(market_id, (0, None))
                assert frame["ts"] > last_ts or (frame["ts"], shown) == (last_ts, last_shown)
                newest[market_id] = (frame["ts"], shown)
            for market_id, (_, shown) in newest.items():
                assert shown == books.now(market_id)
        first = listeners[0].of("prediction-orderbook")
        assert {frame["eventMarketId"] for frame in first} >= {*MARKETS}
        assert len(first) > 80


def dollars(cents):
    return f"{cents // 100}.{cents % 100:02d}"


@pytest.mark.parametrize("seed", [34, 35])
@on_virtual_time
async def test_prints_of_channel_and_tape_are_equal_and_add_up_to_the_volume(seed):
    async with running(3) as venue:
        flow, listener = Flow(venue, seed), Listener(venue, MARKETS + LATER)
        for _ in range(120):
            await flow.send(5)
            await asyncio.sleep(0.004)
            listener.take()
        await asyncio.sleep(0.1)
        listener.take()
        caller, prints = Caller(venue, "ann"), listener.of("prediction-trade")
        assert len(prints) > 50
        for market_id in engine_of(venue).market_ids:
            sent = [frame for frame in prints if frame["eventMarketId"] == market_id]
            listed = (await caller.get(f"/markets/{market_id}/trades", {"limit": "1000"}))["trades"]
            assert [(f["tradeId"], f["price"], f["size"]) for f in sent] == [
                (row["trade_id"], row["price"], row["qty"]) for row in reversed(listed)
            ]
            snapshot = await caller.get(f"/markets/{market_id}/snapshot")
            cents = sum(frame["price"] * frame["size"] for frame in sent)
            assert snapshot["stats"]["volume_usd"] == dollars(cents)
            assert snapshot["stats"].get("last_price") == (sent[-1]["price"] if sent else None)
            assert snapshot.get("last_trade") == (listed[0] if listed else None)
            candles = await caller.get(f"/markets/{market_id}/candles", {"interval": "1m"})
            assert sum(c["volume"] for c in candles["candles"]) == sum(r["qty"] for r in listed)


@on_virtual_time
async def test_every_print_is_followed_by_its_ticker():
    async with running() as venue:
        flow, listener = Flow(venue, 36), Listener(venue, MARKETS)
        for _ in range(200):
            await flow.send(3)
            await asyncio.sleep(0)
            listener.take()
        updates = [f for f in listener.frames if f["type"] != "prediction-orderbook"]
        pairs = list(zip(updates[::2], updates[1::2], strict=True))
        assert len(pairs) > 20
        for trade, ticker in pairs:
            assert (trade["type"], ticker["type"]) == ("prediction-trade", "prediction-ticker")
            for name in ("ticker", "eventMarketId", "ts", "price", "size"):
                assert trade[name] == ticker[name]


@on_virtual_time
async def test_open_interest_equals_the_shares_held_and_is_0_after_resolution():
    async with running() as venue:
        await Flow(venue, 37).run(900)
        await asyncio.sleep(0.05)
        caller, resolved, open_ = Caller(venue, "bob"), 0, 0
        held = defaultdict(int)
        for user in USERS:
            page = await Caller(venue, user).get("/portfolio/positions", {"limit": "1000"})
            for row in page["positions"]:
                held[row["market_id"], row["outcome"]] += row["qty"]
        for shown in (await caller.get("/events"))["events"]:
            for market in shown["markets"]:
                snapshot = await caller.get(f"/markets/{market['ticker']}/snapshot")
                stats = snapshot["stats"]["open_interest"]
                pairs = held[market["market_id"], "yes"]
                assert market["open_interest"] == stats == pairs
                assert pairs == held[market["market_id"], "no"]
                assert snapshot["market"] == market
                over = market["state"] == "resolved"
                assert not over or stats == 0
                resolved, open_ = resolved + over, open_ + (stats > 0)
        assert resolved
        assert open_

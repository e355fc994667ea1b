"""Claims about another channel and other markets: frames, handles, states, ticks.

As in `test_silences_replies`: the real shell on a bent venue, judged by the engine's own events.
"""

import json

import pytest

from tests.builders.shell.life import Plan, assert_exact, assert_safe, live
from tests.builders.shell.site import HOST, PORT
from tests.builders.silences.bends import Frames, Instead, Replies, once_each, refused, rows_of

BOOK = "prediction-orderbook"


def life_with(bend, **changes):
    """A run on a venue with a bend: three seconds of trade, then calm."""
    return live(Plan(**{"seed": 3, "faulty_s": 3.0, "calm_s": 3.0, "bend": bend, **changes}))


@pytest.mark.parametrize("path", ["/v1/ws", "/channel", "/v2/market-data/stream"])
def test_s8_the_channel_may_be_anywhere(path):
    life = life_with(None, stream_path=path, stream_url=f"ws://{HOST}:{PORT}{path}")
    assert_exact(life)


def test_s9_a_subscribe_may_have_no_acknowledgement():
    def change(frame):
        return [] if frame["type"] == "subscribed" else [frame]

    assert_exact(life_with(Frames(change)))


def test_s9_a_subscribe_may_bring_no_first_book():
    bend = Frames(lambda frame: [frame])
    first: set[str] = set()
    later = once_each()

    def frames(text):
        kept = later(text)
        new = [each for each in kept if BOOK in each and each not in first]
        if new and bend.site.age_s() < 0.2:
            first.update(new)
            return []
        return kept

    bend.frames = frames
    life = life_with(bend, calm_s=4.0)
    assert len(first) >= 2
    assert_exact(life)


def test_s10_frames_of_unknown_types_are_ignored():
    def change(frame):
        more = {"type": "market-update", "data": {"type": "prediction-depth", "x": [1]}}
        return [{"type": "heartbeat"}, more, frame, {"type": "notice", "data": None}]

    life = life_with(Frames(change))
    assert_exact(life)
    assert life.trader.out.counters.frames_garbled > 0


def more_fields(frame):
    frame["seq"] = 17
    if isinstance(frame.get("data"), dict):
        frame["data"] |= {"sequence": 4, "checksum": "ab", "meta": {"a": [1, {"b": 2}]}}
        for side in ("yes", "no"):
            for level in frame["data"].get(side, []):
                level["orders"] = 3
    return frame


def uuid_alone(frame):
    if isinstance(frame.get("data"), dict):
        frame["data"].pop("ticker", None)
    return frame


def levels_as_pairs(frame):
    inner = frame.get("data", {})
    for side in ("yes", "no"):
        if side in inner:
            inner[side] = [[level["price"], level["size"]] for level in inner[side]]
    return frame


def numbers_as_strings(value):
    if isinstance(value, dict):
        return {key: numbers_as_strings(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers_as_strings(each) for each in value]
    return str(value) if isinstance(value, int) else value


@pytest.mark.parametrize("change", [more_fields, uuid_alone, levels_as_pairs, numbers_as_strings])
def test_s10_frames_of_another_shape_are_read(change):
    life = life_with(Frames(lambda frame: [change(frame)]))
    assert_exact(life)
    assert life.trader.out.counters.frames_garbled == 0


@pytest.mark.parametrize("from_s", [0.0, 1.5])
def test_s30_a_market_without_frames_is_not_quoted_after_ten_seconds(from_s):
    def answer(method, path, body):
        silent = f"/markets/{bend.site.markets[1]}/orderbook"
        return refused(503, "engine_unavailable") if path == silent else None

    bend = Instead(answer, from_s)

    def frames(text):
        return [] if bend.site.markets[1] in text and bend.site.age_s() >= from_s else [text]

    bend.frames = frames
    life = life_with(bend, calm_s=10.0)
    assert_safe(life)
    quoted = {order.market_id for order in life.resting_at_stop}
    assert quoted == {bend.site.markets[0]}


@pytest.mark.parametrize(
    ("status", "bent_s", "calm_s"),
    [
        *[(status, (1.0, 6.0), 12.0) for status in ("closed", "settled", "of_tomorrow")],
        ("closed", (), 3.0),
    ],
)
def test_s33_an_event_may_have_any_status_for_a_while_or_be_closed_throughout(
    status, bent_s, calm_s
):
    def change(method, path, was, body):
        for event in rows_of(body, "events"):
            event["status"] = status
        return was, body

    assert_exact(life_with(Replies(change, *bent_s), calm_s=calm_s))


@pytest.mark.parametrize(("low", "high", "tick"), [(5, 95, 5), (10, 60, 1), (2, 98, 2)])
def test_s46_quotes_keep_to_other_price_bounds_and_ticks(low, high, tick):
    def change(method, path, status, body):
        for event in rows_of(body, "events"):
            for market in event["markets"]:
                market |= {"min_price": low, "max_price": high, "tick_size": tick}
        return status, body

    class Grid(Replies):
        refusals = 0

        async def rest(self, method, path, query, body, ask):
            if method in ("POST", "PUT") and self._off_grid(method, path, body):
                self.refusals += 1
                return refused(400, "invalid_price")
            return await super().rest(method, path, query, body, ask)

        def _off_grid(self, method, path, body):
            price = json.loads(body).get("price")
            return price is not None and not (low <= price <= high and (price - low) % tick == 0)

    bend = Grid(change)
    life = life_with(bend)
    assert_safe(life)
    assert bend.refusals == 0
    assert life.resting_at_stop


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "error", "code": "invalid_frame", "message": "x"},
        {"type": "error", "code": "of_tomorrow", "message": ""},
        {"error": "bad"},
        "not json at all",
    ],
)
def test_s48_any_answer_to_a_subscribe_is_survived(frame):
    left = [3]

    def change(shown):
        if shown["type"] == "subscribed" and left[0]:
            left[0] -= 1
            return [frame]
        return [shown]

    life = life_with(Frames(change), calm_s=9.0)
    assert left[0] < 3
    assert_exact(life)

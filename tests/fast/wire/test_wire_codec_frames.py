"""Claims about frames: strict subscribes, tolerant updates, and no other exception ever."""

import json
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.wire import codec, frames, limits, model
from venue.wire.errors import ChannelCode

UUID = "0b9f3c1e-5a2d-4c7b-9e8f-001122aabbcc"
TICKER = "ACME-26Q4-212.5B"


def subscribe(*targets):
    return json.dumps({"type": "subscribe", "data": {"targets": list(targets)}}).encode()


def rung(**keys):
    return {"target": "event-market", "data": keys}


def company(**keys):
    return {"target": "market", "data": keys}


@pytest.mark.parametrize(
    ("shown", "target"),
    [
        (rung(ticker=TICKER), frames.RungTarget(frames.ByTicker(TICKER))),
        (rung(eventMarketId=UUID), frames.RungTarget(frames.ByEventMarketId(UUID))),
        (company(symbol="acme"), frames.CompanyTarget(frames.BySymbol("acme"))),
        (company(marketId=UUID), frames.CompanyTarget(frames.ByMarketId(UUID))),
        (rung(ticker=TICKER, eventMarketId=None), frames.RungTarget(frames.ByTicker(TICKER))),
        (rung(ticker=TICKER, note="x"), frames.RungTarget(frames.ByTicker(TICKER))),
    ],
)
def test_a_target_is_named_by_its_one_key(shown, target):
    assert codec.parse_subscribe(subscribe(shown)) == (target,)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"type":"SUBSCRIBE","data":{"targets":[{"target":"market","data":{"symbol":"acme"}}]}}',
        subscribe(company(symbol="acme") | {"target": "Market"}),
    ],
)
def test_types_of_frames_and_targets_are_read_in_any_case(frame):
    assert codec.parse_subscribe(frame) == (frames.CompanyTarget(frames.BySymbol("acme")),)


def test_targets_keep_their_order_and_their_duplicates():
    shown = [rung(ticker="B"), rung(ticker="A"), rung(ticker="B")]
    tickers = [target.data.ticker for target in codec.parse_subscribe(subscribe(*shown))]
    assert tickers == ["B", "A", "B"]
    assert codec.parse_subscribe(subscribe()) == ()


def test_two_hundred_targets_are_accepted_and_one_more_is_too_many():
    most = [rung(eventMarketId=UUID)] * limits.SUBSCRIPTION_TARGETS_MAX
    assert len(codec.parse_subscribe(subscribe(*most))) == limits.SUBSCRIPTION_TARGETS_MAX
    with pytest.raises(codec.FrameRefusal) as refusal:
        codec.parse_subscribe(subscribe(*most, most[0]))
    assert refusal.value.code is ChannelCode.TOO_MANY_TARGETS


@pytest.mark.parametrize(
    "frame",
    [
        b"", b"subscribe", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"type":"subscribe"}',
        b'{"type":"unsubscribe","data":{"targets":[]}}', b'{"type":"subscribe","data":[]}',
        b'{"type":"subscribe","data":{"targets":{}}}',
        b'{"type":"subscribe","type":"subscribe","data":{"targets":[]}}',
        b'{"type":"subscribe","data":{"targets":[NaN]}}',
        *[
            subscribe(target)
            for target in (
                "ACME", None, {"target": "event-market"},
                {"target": "event-market", "data": "ACME"},
                {"target": "event", "data": {"ticker": TICKER}},
                {"target": ["event-market"], "data": {"ticker": TICKER}},
                {"target": "mar\N{KELVIN SIGN}et", "data": {"symbol": "acme"}},
                {"data": {"ticker": TICKER}},
                rung(), rung(ticker=None), rung(ticker=TICKER, eventMarketId=UUID),
                rung(symbol="acme"), rung(marketId=UUID), rung(ticker=5), company(),
                company(symbol="acme", marketId=UUID), company(ticker=TICKER), company(marketId=7),
            )
        ],
        subscribe(rung(ticker=TICKER), rung()),
    ],
)  # fmt: skip
def test_a_malformed_subscribe_is_an_invalid_frame(frame):
    with pytest.raises(codec.FrameRefusal) as refusal:
        codec.parse_subscribe(frame)
    assert refusal.value.code is ChannelCode.INVALID_FRAME


DEEP = b"[" * 100_000 + b"]" * 100_000


def test_a_frame_nested_too_deep_is_rejected_in_either_direction():
    with pytest.raises(codec.FrameRefusal) as refusal:
        codec.parse_subscribe(DEEP)
    assert refusal.value.message == "frame: nested too deep"
    with pytest.raises(codec.Garbled, match=r"^not a frame: nested too deep$"):
        codec.decode_frame(DEEP)
    with pytest.raises(codec.Garbled, match=r"^not a Balance: nested too deep$"):
        codec.decode(DEEP, model.Balance)


TARGETS = st.one_of(
    st.builds(frames.RungTarget, st.builds(frames.ByTicker, st.text(max_size=20))),
    st.builds(frames.RungTarget, st.just(frames.ByEventMarketId(UUID))),
    st.builds(frames.CompanyTarget, st.builds(frames.BySymbol, st.text(max_size=20))),
    st.builds(frames.CompanyTarget, st.just(frames.ByMarketId(UUID))),
)


@given(st.lists(TARGETS, max_size=5).map(tuple))
def test_an_encoded_subscribe_is_read_back_as_it_was(targets):
    frame = frames.Subscribe(frames.Targets(targets))
    assert codec.parse_subscribe(codec.encode(frame)) == targets


HEAD = {"ticker": TICKER, "eventMarketId": UUID, "ts": 1_767_312_245_000_000_006}
BOOK = HEAD | {
    "type": "prediction-orderbook",
    "yes": [{"price": 41, "size": 5}, {"price": 40, "size": 9}],
    "no": [{"price": 57, "size": 2}],
}
TRADE = HEAD | {
    "type": "prediction-trade",
    "tradeId": "t1",
    "price": 41,
    "size": 3,
    "maker": {"outcome": "yes", "side": "buy"},
    "taker": {"outcome": "no", "side": "buy"},
}
LAST = HEAD | {"type": "prediction-ticker", "price": 41, "size": 3}
IMPLIED = {
    "type": "prediction-implied-value",
    "symbol": "ACME",
    "marketId": UUID,
    "ts": 5,
    "impliedValue": "212500000000.00",
    "confidence": "0.85",
}
UPDATES = [BOOK, TRADE, LAST, IMPLIED]


def frame(update):
    return json.dumps({"type": "market-update", "data": update}).encode()


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update["type"])
def test_an_update_is_encoded_with_the_fields_it_was_read_with(update):
    decoded = codec.decode_frame(frame(update))
    assert json.loads(codec.encode(decoded)) == {"type": "market-update", "data": update}


def numbers_as_strings(value):
    if isinstance(value, dict):
        return {key: numbers_as_strings(field) for key, field in value.items()}
    if isinstance(value, list):
        return [numbers_as_strings(field) for field in value]
    return str(value)


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update["type"])
def test_an_update_is_read_as_text_with_more_fields_and_with_numbers_as_strings(update):
    usual = codec.decode_frame(frame(update))
    assert codec.decode_frame(frame(update).decode()) == usual
    assert codec.decode_frame(frame(update | {"seq": [1]})) == usual
    assert codec.decode_frame(frame(numbers_as_strings(update))) == usual


@pytest.mark.parametrize("level", [[41, 5], ["41", "5"], {"price": "41", "size": 5}])
def test_a_level_may_be_a_pair(level):
    pairs = codec.decode_frame(frame(BOOK | {"yes": [level, [40, 9]], "no": [["57", 2]]}))
    assert pairs == codec.decode_frame(frame(BOOK))


def test_a_ladder_of_more_levels_than_there_are_prices_is_malformed():
    with pytest.raises(codec.Garbled, match="a ladder has prices"):
        codec.decode_frame(frame(BOOK | {"yes": [[1, 1]] * 100}))


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update["type"])
def test_an_update_may_name_its_market_or_company_by_uuid_alone(update):
    (handle,) = {"ticker", "symbol"} & update.keys()
    unnamed = {key: value for key, value in update.items() if key != handle}
    shown, usual = codec.decode_frame(frame(unnamed)), codec.decode_frame(frame(update))
    assert shown.data == msgspec.structs.replace(usual.data, **{handle: ""})


def test_a_trade_id_may_be_a_number():
    number = 2**63 - 1
    shown, usual = (codec.decode_frame(frame(TRADE | {"tradeId": each})) for each in (number, "t1"))
    assert shown.data == msgspec.structs.replace(usual.data, trade_id=str(number))


@pytest.mark.parametrize("number", [0, -1, True, 1.5, 10**30, None])
def test_a_trade_id_of_another_type_is_malformed(number):
    with pytest.raises(codec.Garbled):
        codec.decode_frame(frame(TRADE | {"tradeId": number}))


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        ({"type": "heartbeat"}, "heartbeat"),
        ({"type": "market-update", "data": {"type": "prediction-liquidation"}}, None),
        ({"type": "market-update", "data": {"type": ["prediction-ticker"]}}, None),
        ({"data": {}}, "None"),
        ({"type": 7}, "7"),
        ({"type": {}}, "{}"),
    ],
)
def test_a_frame_of_an_unknown_type_is_unrecognised(shown, kind):
    decoded = codec.decode_frame(json.dumps(shown).encode())
    assert isinstance(decoded, codec.Unrecognised)
    assert kind is None or decoded.type == kind


def test_error_and_acknowledgement_frames_are_read():
    refused = codec.decode_frame(b'{"type":"error","message":"no","code":"unknown_target"}')
    assert refused == frames.ChannelError(message="no", code="unknown_target")
    accepted = codec.decode_frame(b'{"type":"subscribed","data":{"targets":3}}')
    assert accepted == frames.Subscribed(frames.SubscribedCount(3))


@pytest.mark.parametrize(
    "update",
    [
        {key: value for key, value in BOOK.items() if key != "no"},
        *[
            BOOK | {"yes": [{"price": price, "size": size}]}
            for price, size in (
                *((0, 5), (100, 5), (41, -1), (41.5, 1), (True, 1), (41, 2**63), (41, 10**30)),
                *((43, 1), (60, 1)),
            )
        ],
        BOOK | {"yes": [{"price": 40, "size": 1}, {"price": 41, "size": 1}]},
        BOOK | {"yes": [{"price": 41, "size": 1}, {"price": 41, "size": 1}]},
        *[BOOK | {"yes": levels} for levels in (None, "41", [[41]], [[41, 5, 6]])],
        *[BOOK | {"ts": ts} for ts in ("yesterday", -1, 2**63, 10**40)],
        *[TRADE | change for change in ({"price": 0}, {"price": 100}, {"size": -3})],
        *[TRADE | change for change in ({"size": 10**30}, {"taker": None})],
        LAST | {"price": 1000},
        IMPLIED | {"impliedValue": 5},
        IMPLIED | {"ts": 10**30},
    ],
    ids=lambda update: repr(update)[-60:],
)
def test_an_implausible_update_is_malformed(update):
    with pytest.raises(codec.Garbled):
        codec.decode_frame(frame(update))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", "\ud800", b'{"type":"error"}',
        b'{"type":"subscribed","data":{}}', b'{"type":"market-update"}',
        b'{"type":"market-update","data":5}', b'{"type":"market-update","x":' + b"[" * 100_000,
    ],
)  # fmt: skip
def test_bytes_that_are_no_frame_are_malformed(data):
    with pytest.raises(codec.Garbled):
        codec.decode_frame(data)


# --- fuzz ----------------------------------------------------------------------------------------

ALPHABET = b'{}[]",:0123456789-.eEtruefalsn\\u \x00\xff\xc3price'
SEEDS = [
    json.dumps(
        {
            "ticker": TICKER,
            "outcome": "yes",
            "side": "buy",
            "price": 41,
            "budget_cents": 10,
            "time_in_force": "fok",
            "client_order_id": "a",
        }
    ).encode(),
    b'{"price":5,"qty":7}',
    subscribe(rung(ticker=TICKER), company(marketId=UUID)),
    *[frame(update) for update in UPDATES],
    b'{"code":"rate_limited","error":"slow down"}',
]


def mutant(source):
    """A sound message with one to six bytes cut, doubled, replaced, or a piece of another in it."""
    data = bytearray(source.choice(SEEDS))
    for _ in range(source.randint(1, 6)):
        at, choice = source.randrange(len(data) + 1), source.randrange(5)
        if choice == 0:
            del data[at : at + source.randint(1, 8)]
        elif choice == 1:
            data[at:at] = data[at : at + source.randint(1, 30)]
        elif choice == 2:
            data[at : at + 1] = source.choices(ALPHABET, k=1)
        elif choice == 3:
            other = source.choice(SEEDS)
            cut = source.randrange(len(other))
            data[at:at] = other[cut : cut + source.randint(1, 30)]
        else:
            data[at:at] = str(source.choice([0, -1, 10**19, 10**40, 1.5, 2**63])).encode()
    return bytes(data)


READERS = [
    lambda data: codec.parse_new_order(data, lambda name: name),
    codec.parse_amend,
    codec.parse_subscribe,
    codec.decode_frame,
    lambda data: codec.decode(data, model.ErrorBody),
    lambda data: codec.decode(data, model.Order),
]


def test_ten_thousand_mutated_messages_end_in_a_value_or_a_codec_error():
    source, read, refused = random.Random(20260101), 0, 0
    for _ in range(10_000):
        data = mutant(source)
        for reader in READERS:
            try:
                value = reader(data)
            except (codec.Refusal, codec.FrameRefusal, codec.Garbled):
                refused += 1
            else:
                read += 1
                msgspec.msgpack.encode(value)  # whatever is read can be written to a log
    assert read > 500
    assert refused > 5000

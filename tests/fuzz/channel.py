"""Generated messages over the real channel, and a second account of what each must be answered.

A message is answered once, by `subscribed` or by one of the three errors; three unreadable ones in
a row close the connection; nothing else ever happens.
"""

import json
import re
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.fuzz.site import Site

FRAMES_PER_EXAMPLE = 25
_TARGETS_MAX = 200
_UNREADABLE_IN_A_ROW = 3
_CLOSING = ["invalid_frame"] * _UNREADABLE_IN_A_ROW
CLOSE_POLICY = 1008
EMPTY_SET = '{"type": "subscribe", "data": {"targets": []}}'
_UPDATES = {
    "prediction-orderbook",
    "prediction-trade",
    "prediction-ticker",
    "prediction-implied-value",
}
_KEYS = {"event-market": ("ticker", "eventMarketId"), "market": ("symbol", "marketId")}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I | re.A)
_SYMBOL = "LINDEN"

Message = str | bytes
Exchange = tuple[Message, str | int]
"""A message and its answer: the code of the error, or how many targets are subscribed to."""


class Names:
    """What the venue's directory resolves, by what it is asked for."""

    def __init__(self, site: Site) -> None:
        ids = dict(zip(site.markets, site.market_ids, strict=True))
        self.rungs = {ticker: ids[ticker] for ticker in site.markets if ticker not in site.halted}
        self.companies = {_SYMBOL: site.project_ids[0]}
        self.asked_for = [*site.markets, *site.market_ids, *site.events, *site.project_ids, _SYMBOL]


# --- what is sent ---------------------------------------------------------------------------------


def messages(names: Names) -> st.SearchStrategy[Message]:
    """Text, bytes, JSON, and subscribe frames that are right, nearly right, or cut."""
    json_value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=6,
    )
    name = st.sampled_from(names.asked_for)
    value = name | name.map(str.lower) | name.map(lambda n: f" {n}\t") | st.text(max_size=8)
    value = value | st.none() | st.integers(0, 9)
    keys = st.sampled_from([key for pair in _KEYS.values() for key in pair])
    target = st.fixed_dictionaries(
        {"target": st.sampled_from([*_KEYS, *_KEYS, "order"])},
        optional={"data": st.dictionaries(keys, value, max_size=2)},
    )
    good = st.sampled_from(
        [_target("event-market", "ticker", ticker) for ticker in names.rungs]
        + [_target("event-market", "eventMarketId", uuid) for uuid in names.rungs.values()]
        + [_target("market", "symbol", _SYMBOL)]
    )
    many = st.integers(_TARGETS_MAX - 1, _TARGETS_MAX + 1)
    targets = st.one_of(
        st.lists(good, max_size=4),
        st.lists(good | target, max_size=4),
        st.builds(lambda one, count: [one] * count, good, many),
    )
    right = targets.map(lambda found: {"type": "subscribe", "data": {"targets": found}})
    nearly = st.fixed_dictionaries(
        {"type": st.sampled_from(["subscribe", "subscribed", "ping"]) | json_value},
        optional={"data": json_value | st.fixed_dictionaries({"targets": targets | json_value})},
    )
    frame = (right | right | nearly | json_value).map(json.dumps)
    cut = st.builds(lambda text, at, put: text[:at] + put + text[at:], frame, st.integers(0, 40),
                    st.text(max_size=3))  # fmt: skip
    return frame | cut | st.text() | st.binary() | frame.map(str.encode)


def _target(kind: str, key: str, value: str) -> dict[str, Any]:
    return {"target": kind, "data": {key: value}}


# --- what must be answered ------------------------------------------------------------------------


def expected(message: Message, names: Names) -> str | int:
    """The code of the error, or how many targets are subscribed to."""
    try:
        text = message.decode() if isinstance(message, bytes) else message
        frame = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        targets = frame["data"]["targets"] if frame["type"] == "subscribe" else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return "invalid_frame"
    if not isinstance(targets, list):
        return "invalid_frame"
    if len(targets) > _TARGETS_MAX:
        return "too_many_targets"
    named = [_named(target) for target in targets]
    if None in named:
        return "invalid_frame"
    found = {_found(*each, names) for each in named if each is not None}
    return "unknown_target" if None in found else len(found)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(text: str) -> object:
    raise ValueError(text)


def _named(target: object) -> tuple[str, str, str] | None:
    """(kind, key, text) of a target that can be read."""
    if not isinstance(target, dict) or not isinstance(target.get("data"), dict):
        return None
    kind = target.get("target")
    data = target["data"]
    keys = [key for pair in _KEYS.values() for key in pair if data.get(key) is not None]
    if not isinstance(kind, str) or len(keys) != 1 or keys[0] not in _KEYS.get(kind, ()):
        return None
    key, text = keys[0], data[keys[0]]
    return (kind, key, text) if isinstance(text, str) else None


def _found(kind: str, key: str, text: str, names: Names) -> tuple[str, str] | None:
    """(kind, id) of what a target means; an unknown UUID means itself, what is none nothing."""
    if key.endswith("Id"):
        return (kind, text.lower()) if _UUID.fullmatch(text) is not None else None
    known = names.rungs if kind == "event-market" else names.companies
    handle = text.strip(" \t\r\n\f\v")
    uuid = known.get(handle.upper()) if handle.isascii() else None
    return None if uuid is None else (kind, uuid)


# --- the conversation -----------------------------------------------------------------------------


def converse(site: Site, examples: int, seed_number: int) -> int:
    """Hold so many conversations of 25 messages or more; how many messages were judged.

    Raises AssertionError at a wrong answer.
    """
    names, judged = Names(site), 0

    @seed(seed_number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(messages(names), min_size=FRAMES_PER_EXAMPLE, max_size=FRAMES_PER_EXAMPLE),
        st.integers(0, 9).map(lambda drawn: drawn == 0),
    )
    def conversation(drawn: list[Message], to_the_end: bool) -> None:
        nonlocal judged
        sent = _planned([(message, expected(message, names)) for message in drawn], to_the_end)
        with connect(site.stream_url, proxy=None, compression=None) as channel:
            _judge(channel, sent)
        judged += len(sent)

    conversation()
    return judged


def _planned(drawn: list[Exchange], to_the_end: bool) -> list[Exchange]:
    """What to send: to a third unreadable message in a row, or with a readable one before it."""
    planned: list[Exchange] = []
    in_a_row = 0
    for message, wanted in drawn:
        if in_a_row == _UNREADABLE_IN_A_ROW - 1 and not to_the_end:
            planned.append((EMPTY_SET, 0))
            in_a_row = 0
        planned.append((message, wanted))
        in_a_row = in_a_row + 1 if wanted == "invalid_frame" else 0
        if in_a_row == _UNREADABLE_IN_A_ROW:
            break
    return planned


def _judge(channel: ClientConnection, sent: list[Exchange]) -> None:
    # All at once: the answers come in the order of the messages however many wait.
    for message, _ in sent:
        channel.send(message)
    for message, wanted in sent:
        assert _answer(channel) == wanted, message
    if [wanted for _, wanted in sent[-_UNREADABLE_IN_A_ROW:]] == _CLOSING:
        assert _close_code(channel) == CLOSE_POLICY


def _answer(channel: ClientConnection) -> str | int:
    """The next answer; updates are looked at in passing."""
    while True:
        frame = json.loads(channel.recv(timeout=10))
        if frame["type"] == "market-update":
            assert frame["data"]["type"] in _UPDATES
        elif frame["type"] == "subscribed":
            count: int = frame["data"]["targets"]
            return count
        else:
            assert frame.keys() == {"type", "code", "message"}
            assert frame["type"] == "error"
            code: str = frame["code"]
            return code


def _close_code(channel: ClientConnection) -> int | None:
    try:
        while True:
            assert json.loads(channel.recv(timeout=10))["type"] == "market-update"
    except ConnectionClosed:
        return channel.close_code

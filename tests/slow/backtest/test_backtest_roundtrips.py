"""Claims about round trips that were measured: read from a text or a journal, and drawn again."""

import random

import pytest

from bot.core import messages as m
from bot.io.journal.records import Entry
from bot.lab.exchange.assumptions import KEPT_MAX, Latency
from tests.builders.record.made import journal
from venue.wire.instant import NS_PER_MS


def named(path):
    return Latency.parse(f"empirical:{path}")


def test_each_line_of_a_latency_file_is_a_round_trip_in_milliseconds(tmp_path):
    path = tmp_path / "measured.txt"
    path.write_text("# of a day\n30\n12.5\n\n100\n")
    assert named(path).measured_ns == (12_500_000, 30_000_000, 100_000_000)


def test_a_measured_round_trip_is_drawn_and_halved_for_each_way():
    measured = Latency(0, measured_ns=(10, 30, 100))
    drawn = {measured.ways_ns(random.Random(seed)) for seed in range(50)}
    assert drawn == {(5, 5), (15, 15), (50, 50)}


BAD_LINES = ("30ms", "-1", "nan", "60001", "1e3")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *[(f"30\n{bad}\n", rf"measured\.txt:2: {bad}: want milliseconds") for bad in BAD_LINES],
        ("", "no round trip in it"),
        ("# nothing\n", "no round trip in it"),
        (None, "cannot be read"),
    ],
)
def test_a_missing_empty_or_invalid_latency_file_is_rejected(tmp_path, text, reason):
    path = tmp_path / "measured.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        named(path)


def test_many_round_trips_are_reduced_to_quantiles(tmp_path):
    path = tmp_path / "measured.txt"
    path.write_text("".join(f"{number}\n" for number in range(10_000)))
    kept = named(path).measured_ns
    assert len(kept) == KEPT_MAX
    assert kept[0] < 10 * NS_PER_MS
    assert kept[-1] > 9_989 * NS_PER_MS


def test_answered_requests_of_a_journal_are_round_trips(tmp_path):
    balance = m.ReadBalance()
    rows = [
        (100, m.Send(m.RequestId(1), balance, "audit", m.Key.READ)),
        (110, m.Send(m.RequestId(2), balance, "audit", m.Key.READ)),
        (120, m.Send(m.RequestId(3), balance, "audit", m.Key.READ)),
        (130, m.Response(m.RequestId(1), m.Rejected(429, "rate_limited", ""))),
        (150, m.Response(m.RequestId(2), m.Unknown("no answer in time"))),
    ]
    journal(tmp_path, [Entry(at_ns, message) for at_ns, message in rows])
    assert named(tmp_path).measured_ns == (30,)
    assert named(tmp_path / "journal-00000001.log").measured_ns == (30,)

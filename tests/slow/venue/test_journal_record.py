"""Claims about the bytes of the log: what was written is read, anything else is a StateFault."""

import base64
import contextlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venue.engine import messages as m
from venue.storage.record import (
    HEADER_BYTES,
    LogRecord,
    Segment,
    StateFault,
    frame,
    header,
    seal,
    unseal,
)
from venue.wire.model import EventStatus, VenueState
from venue.wire.money import FeeRate, Outcome, Side
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce
from venue.wire.routes import KeyScope, TokenScope

STATE_ID = b"statedir"
TEXT = st.text(max_size=20)
CENTS = st.integers(-(2**63), 2**63 - 1)
COMMANDS = st.one_of(
    st.builds(m.Deposit, TEXT, CENTS),
    st.builds(m.AddUser, TEXT),
    st.builds(m.SetVenueState, st.sampled_from(VenueState)),
    st.builds(m.ResolveMarket, TEXT, st.sampled_from(Outcome)),
    st.builds(m.CancelOrder, TEXT, TEXT),
    st.builds(m.AmendOrder, TEXT, TEXT, st.builds(Amend, CENTS, st.none() | CENTS)),
    st.builds(m.AddKey, TEXT, TEXT, st.none() | TEXT, st.tuples(st.sampled_from(KeyScope))),
)
APPENDS = st.lists(st.tuples(CENTS, st.lists(COMMANDS, min_size=1, max_size=4)), max_size=6)


def segment(data, is_last=True):
    return Segment(data, "commands.log", STATE_ID, is_last)


def segment_bytes(appends):
    """The bytes of a segment of these appends, and the entries they must come back as."""
    data, entries = header(STATE_ID, 1), []
    for at_ns, commands in appends:
        data += frame(len(entries) + 1, at_ns, commands)
        for command in commands:
            entries.append(LogRecord(len(entries) + 1, at_ns, command))
    return data, entries


@given(APPENDS)
def test_a_log_segment_reads_back_what_was_written(appends):
    data, entries = segment_bytes(appends)
    read = segment(data, is_last=False)
    assert list(read.entries()) == entries
    assert read.next_sequence == len(entries) + 1
    assert read.torn_bytes == 0


@given(APPENDS, st.data())
def test_a_cut_log_segment_reads_as_a_prefix_of_its_entries(appends, data):
    whole, entries = segment_bytes(appends)
    length = data.draw(st.integers(HEADER_BYTES, len(whole)))
    read = segment(whole[:length])
    held = list(read.entries())
    assert held == entries[: len(held)]
    assert read.whole_bytes + read.torn_bytes == length


@given(st.binary(max_size=300), APPENDS, st.booleans())
def test_arbitrary_bytes_after_a_header_read_as_entries_or_raise_a_state_fault(
    rubbish, appends, is_last
):
    whole, _ = segment_bytes(appends)
    with contextlib.suppress(StateFault):
        for entry in segment(whole + rubbish, is_last).entries():
            assert isinstance(entry, LogRecord)


@given(st.binary(max_size=200))
def test_an_arbitrary_payload_with_a_valid_checksum_reads_as_entries_or_raises_a_state_fault(
    payload,
):
    length = len(payload).to_bytes(4, "little")
    crc = zlib.crc32(payload, zlib.crc32(length)).to_bytes(4, "little")
    with contextlib.suppress(StateFault):
        list(segment(header(STATE_ID, 1) + length + crc + payload).entries())


@given(st.binary(max_size=100))
def test_arbitrary_bytes_as_a_header_raise_a_state_fault(data):
    with pytest.raises(StateFault):
        segment(data)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=100))
def test_a_sealed_snapshot_unseals_to_its_sequence_and_payload(sequence, payload):
    assert unseal(seal(STATE_ID, sequence, payload), "x", STATE_ID) == (sequence, payload)


@given(st.binary(max_size=100))
def test_arbitrary_bytes_as_a_snapshot_raise_a_state_fault(data):
    with pytest.raises(StateFault):
        unseal(data, "x", STATE_ID)


@settings(max_examples=20)
@given(st.binary(min_size=1, max_size=20))
def test_a_snapshot_of_another_directory_raises_a_state_fault(payload):
    with pytest.raises(StateFault, match="another state directory"):
        unseal(seal(b"elsewher", 1, payload), "x", STATE_ID)


# One command of every kind as version 1 of the format writes it. A program that reads this no
# longer reads the logs that are out there: then the version has to be another one.
EVERY_KIND = [
    m.ListCompany("p", "Acme", "ACME"),
    m.ArchiveCompany("p"),
    m.ListEvent("A-26Q1", "A", "u", "p", "t", "c", EventStatus.OPEN, False, 10**18, "s", None),
    m.ListMarket("m", "A-26Q1-1B", "A-26Q1", "n", "o", FeeRate(1), FeeRate(2), "1.5", None, "d"),
    m.SetEventStatus("A-26Q1", EventStatus.CLOSED),
    m.HaltMarket("m"),
    m.ResumeMarket("m"),
    m.ResolveMarket("m", Outcome.NO),
    m.SetVenueState(VenueState.CANCEL_ONLY),
    m.AddUser("ann"),
    m.Deposit("ann", 500),
    m.Withdraw("ann", 1),
    m.PublishImpliedValue("p", "1.5", "0.5"),
    m.PlaceOrder("ann", QtyOrder("m", Outcome.YES, Side.BUY, 50, 3, TimeInForce.GTC, "id")),
    m.PlaceOrder("ann", BudgetOrder("m", Outcome.NO, 50, 99, TimeInForce.FOK, "id 2")),
    m.AmendOrder("ann", "12", Amend(51, None)),
    m.CancelOrder("ann", "12"),
    m.AddKey("ab", "lm_a", None, (KeyScope.READ,)),
    m.RevokeKey("ab"),
    m.AddToken("cd", "app", "ann", (TokenScope.ORDERS_WRITE,), 7),
]


@pytest.fixture
def version_1_log():
    text = Path(__file__).with_name("journal_v1.txt").read_text()
    return base64.b64decode(text.split("\n\n", 1)[1])


def test_the_version_1_samples_hold_every_kind_of_command():
    kinds = {type(command) for command in EVERY_KIND}
    assert kinds == set(m.Command.__args__) | set(m.AccessCommand.__args__)


def test_a_version_1_log_reads_as_its_commands(version_1_log):
    assert [entry.command for entry in segment(version_1_log).entries()] == EVERY_KIND
    assert [entry.at_ns for entry in segment(version_1_log).entries()] == [10**18] * len(EVERY_KIND)


def test_commands_are_written_in_the_bytes_of_version_1(version_1_log):
    assert header(STATE_ID, 1) + frame(1, 10**18, EVERY_KIND) == version_1_log

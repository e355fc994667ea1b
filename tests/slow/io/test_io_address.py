"""Claims about the venue of a state directory: an unconfirmed create is never sent to another."""

from types import SimpleNamespace

import pytest

from bot.core import messages as m
from bot.io.journal.journal import segments
from bot.io.journal.records import OPENING, Entry, Head, JournalFault, framed
from bot.io.run import session
from tests.builders.io.samples import ORDER_JSON, create, sent
from venue.wire import codec, model

HERE = "http://127.0.0.1:8080/v1"
ELSEWHERE = "http://127.0.0.1:9090/v1"
CLOCK = SimpleNamespace(now_ns=lambda: 1)


def begin(folder, base_url=HERE, *, embedded=False):
    """The journal of a run that begins at a venue; the creates without an answer that it found."""
    address = SimpleNamespace(base_url=base_url)
    site = SimpleNamespace(address=address, embedded=SimpleNamespace() if embedded else None)
    plan = SimpleNamespace(
        state=folder, site=site, segment_bytes=1 << 20, segments_kept=3, paper=None
    )
    journal = session.open_journal(plan, CLOCK, lambda _reason: None)
    journal.close()
    return len(journal.memory.open_intents)


def answered():
    shown = codec.decode(ORDER_JSON, model.Order)
    return m.Response(m.RequestId(1), m.Ok(m.OrderBody(shown)))


def leave(folder, *messages):
    """What a run leaves behind that was killed after these, a create without an answer if none."""
    newest = segments(folder)[-1]
    entries = (m.Started("ab" * 10, ()), *(messages or (sent(create()),)))
    written = b"".join(framed(Entry(number, each)) for number, each in enumerate(entries))
    newest.write_bytes(OPENING + framed(Head(1, ())) + written)


ANSWERED = (sent(create()), answered())
AT_VENUE, EMBEDDED = {}, {"embedded": True}


@pytest.mark.parametrize(
    ("first", "messages", "then", "fault"),
    [
        (AT_VENUE, (), {"base_url": ELSEWHERE}, f"sent to {HERE}, 1 creates have no answer"),
        (AT_VENUE, (), EMBEDDED, f"sent to {HERE}, 1 creates have no answer"),
        (AT_VENUE, ANSWERED, {"base_url": ELSEWHERE}, "0 creates .* and 1 orders may rest"),
        (AT_VENUE, ANSWERED, EMBEDDED, "0 creates .* and 1 orders may rest"),
        (EMBEDDED, (), AT_VENUE, "sent to an embedded venue, 1 creates"),
    ],
)
def test_a_run_does_not_begin_at_another_venue_while_orders_of_the_last_may_be_live(
    tmp_path, first, messages, then, fault
):
    begin(tmp_path, **first)
    leave(tmp_path, *messages)
    with pytest.raises(JournalFault, match=fault):
        begin(tmp_path, **then)
    assert begin(tmp_path, **first) == (0 if messages else 1), "the first venue still knows it"


@pytest.mark.parametrize(
    ("first", "messages", "then", "unconfirmed"),
    [
        (EMBEDDED, ANSWERED, EMBEDDED, 0),
        (EMBEDDED, (), {"base_url": ELSEWHERE, "embedded": True}, 1),
        (AT_VENUE, (m.Tick(),), {"base_url": ELSEWHERE}, 0),
    ],
    ids=["embedded again", "another embedded venue", "nothing live"],
)
def test_a_run_may_begin_at_another_venue_where_no_order_can_be_live(
    tmp_path, first, messages, then, unconfirmed
):
    begin(tmp_path, **first)
    leave(tmp_path, *messages)
    assert begin(tmp_path, **then) == unconfirmed


@pytest.mark.parametrize("written", [ELSEWHERE, None], ids=["by a person", "missing"])
def test_the_venue_address_of_a_state_directory_may_be_corrected_by_a_person(tmp_path, written):
    begin(tmp_path)
    leave(tmp_path)
    (tmp_path / "venue-address").unlink()
    if written is not None:
        (tmp_path / "venue-address").write_text(written)
    assert begin(tmp_path, f"{ELSEWHERE}/") == 1


def test_a_refused_start_leaves_the_journal_as_it_was(tmp_path):
    """For the program before it, that may read no newer one; and however often it is refused."""
    begin(tmp_path)
    leave(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for _ in range(3):
        with pytest.raises(JournalFault, match=f"would trade at {ELSEWHERE}"):
            begin(tmp_path, ELSEWHERE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_unreadable_venue_address_stops_the_start(tmp_path):
    (tmp_path / "venue-address").symlink_to(tmp_path / "nowhere")
    with pytest.raises(JournalFault, match="venue-address"):
        begin(tmp_path)

"""Claims about the venue that a state directory speaks of: nothing is sent again elsewhere."""

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
    site = SimpleNamespace(base_url=base_url, embedded=SimpleNamespace() if embedded else None)
    plan = SimpleNamespace(
        state=folder, site=site, segment_bytes=1 << 20, segments_kept=3, paper=None
    )
    journal = session._open_journal(plan, CLOCK, lambda _reason: None)
    journal.close()
    return len(journal.memory.open_intents)


def answered():
    shown = codec.decode(ORDER_JSON, model.Order)
    return m.Response(m.RequestId(1), m.Ok(m.OrderBody(shown)))


def leave_a_create_without_an_answer(folder):
    """What a run leaves behind that was killed while it waited for one."""
    leave(folder, sent(create()))


def leave(folder, *messages):
    """What a run leaves behind that was killed after these."""
    newest = segments(folder)[-1]
    entries = (m.Started("ab" * 10, ()), *messages)
    written = b"".join(framed(Entry(number, each)) for number, each in enumerate(entries))
    newest.write_bytes(OPENING + framed(Head(1, ())) + written)


@pytest.mark.parametrize("embedded", [False, True])
def test_a_run_does_not_begin_elsewhere_while_a_create_has_no_answer(tmp_path, embedded):
    begin(tmp_path)
    leave_a_create_without_an_answer(tmp_path)
    with pytest.raises(JournalFault, match=f"sent to {HERE}, 1 creates have no answer"):
        begin(tmp_path, ELSEWHERE, embedded=embedded)
    assert begin(tmp_path) == 1, "where it was sent it is still known"


def test_a_start_that_is_refused_leaves_the_journal_as_it_was(tmp_path):
    """For the program before it, that may read no newer one; and however often it is refused."""
    begin(tmp_path)
    leave_a_create_without_an_answer(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for _ in range(3):
        with pytest.raises(JournalFault, match=f"would trade at {ELSEWHERE}"):
            begin(tmp_path, ELSEWHERE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("embedded", [False, True])
def test_a_run_does_not_begin_elsewhere_while_an_order_may_rest(tmp_path, embedded):
    begin(tmp_path)
    leave(tmp_path, sent(create()), answered())
    with pytest.raises(JournalFault, match="0 creates have no answer yet and 1 orders may rest"):
        begin(tmp_path, ELSEWHERE, embedded=embedded)


def test_what_rested_at_an_embedded_venue_is_gone_with_it(tmp_path):
    begin(tmp_path, embedded=True)
    leave(tmp_path, sent(create()), answered())
    assert begin(tmp_path) == 0


def test_a_create_of_an_embedded_venue_is_not_sent_to_another_one(tmp_path):
    begin(tmp_path, embedded=True)
    leave_a_create_without_an_answer(tmp_path)
    with pytest.raises(JournalFault, match="sent to an embedded venue, 1 creates"):
        begin(tmp_path)


def test_another_embedded_venue_may_follow_one_whose_bot_was_killed(tmp_path):
    begin(tmp_path, embedded=True)
    leave_a_create_without_an_answer(tmp_path)
    assert begin(tmp_path, ELSEWHERE, embedded=True) == 1


def test_a_state_directory_may_move_to_another_venue_once_every_create_is_answered(tmp_path):
    assert begin(tmp_path) == 0
    assert begin(tmp_path, ELSEWHERE) == 0


def test_a_person_may_write_down_that_another_address_is_the_same_account(tmp_path):
    begin(tmp_path)
    leave_a_create_without_an_answer(tmp_path)
    (tmp_path / "venue-address").write_text(ELSEWHERE)
    assert begin(tmp_path, f"{ELSEWHERE}/") == 1


def test_a_state_directory_that_does_not_say_where_it_traded_is_believed(tmp_path):
    begin(tmp_path)
    leave_a_create_without_an_answer(tmp_path)
    (tmp_path / "venue-address").unlink()
    assert begin(tmp_path, ELSEWHERE) == 1


def test_an_address_that_cannot_be_read_stops_the_start(tmp_path):
    (tmp_path / "venue-address").symlink_to(tmp_path / "nowhere")
    with pytest.raises(JournalFault, match="venue-address"):
        begin(tmp_path)

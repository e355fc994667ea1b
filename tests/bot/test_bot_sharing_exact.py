"""Somebody else on our key, to the last token and nanosecond."""

import pytest

from bot.core.desk.sharing import Sharing
from venue.wire.limits import RATE_BURST

SECOND = 1_000_000_000
MS = 1_000_000


class Line:
    """Requests of ours over one line. missing: below full, as the venue counts; None: not told."""

    def __init__(self) -> None:
        self.sharing = Sharing()
        self.newest = 0
        self.ask(1, 0)

    def send(self, at_ns: int, in_flight: int = 1) -> int:
        """A request leaves. Its number."""
        self.newest += 1
        self.sharing.sent(self.newest, in_flight, at_ns)
        return self.newest

    def answer(
        self,
        number: int,
        missing: int | None,
        at_ns: int,
        in_flight: int = 0,
        definite: bool = True,
    ) -> None:
        """An answer that shows so many tokens missing."""
        left = None if missing is None else RATE_BURST - missing
        self.sharing.answered(number, left, in_flight, self.newest, at_ns, definite=definite)

    def ask(self, missing: int | None, at_ns: int) -> None:
        """A request that is answered at once."""
        self.answer(self.send(at_ns), missing, at_ns)

    def is_found(self, at_ns: int) -> bool:
        """Whether somebody else was found by then."""
        return self.sharing.is_found(at_ns)


@pytest.mark.parametrize(("missing", "found"), [(101, False), (102, True)])
def test_more_than_a_hundred_tokens_missing_within_five_seconds_are_somebody_elses(missing, found):
    line = Line()
    line.ask(missing, SECOND)
    assert line.is_found(SECOND) is found
    assert line.sharing.per_second(SECOND) == (101 if found else 0)


@pytest.mark.parametrize(("missing", "found"), [(161, False), (162, True)])
def test_over_a_longer_time_more_may_be_missing(missing, found):
    line = Line()
    line.ask(missing, 8 * SECOND)
    assert line.is_found(8 * SECOND) is found
    assert line.sharing.per_second(8 * SECOND) == (20 if found else 0)


def test_at_the_instant_of_the_first_count_a_finding_is_told_by_the_nanosecond():
    line = Line()
    line.ask(402, 0)
    assert line.sharing.per_second(0) == 400 * SECOND


@pytest.mark.parametrize(("missing", "found"), [(105, False), (106, True)])
def test_requests_of_ours_of_the_same_instant_are_ours(missing, found):
    line = Line()
    for _ in range(3):
        line.ask(None, 0)
    line.ask(missing, 0)
    assert line.is_found(0) is found


@pytest.mark.parametrize(("missing", "found"), [(104, False), (105, True)])
def test_so_they_are_at_any_later_instant(missing, found):
    line = Line()
    for _ in range(3):
        line.ask(None, SECOND)
    line.ask(missing, SECOND)
    assert line.is_found(SECOND) is found


@pytest.mark.parametrize(("missing", "found"), [(102, False), (103, True)])
def test_answers_without_a_count_before_the_first_one_are_in_it(missing, found):
    line = Line()
    line.sharing = Sharing()
    for told in (None, None, 1, missing):
        line.ask(told, 0)
    assert line.is_found(0) is found


@pytest.mark.parametrize(("missing", "found"), [(101, False), (102, True)])
def test_the_time_since_the_first_count_is_what_matters_and_not_the_hour(missing, found):
    line = Line()
    line.sharing = Sharing()
    line.ask(1, 3 * SECOND)
    line.ask(missing, 4 * SECOND)
    assert line.is_found(4 * SECOND) is found
    assert line.sharing.per_second(4 * SECOND) == (101 if found else 0)


@pytest.mark.parametrize(("missing", "found"), [(102, False), (103, True)])
def test_what_has_flowed_in_since_is_not_missing(missing, found):
    line = Line()
    for _ in range(3):
        line.ask(None, 0)
    line.ask(missing, 15 * MS)
    assert line.is_found(15 * MS) is found


@pytest.mark.parametrize(("missing", "found"), [(103, False), (104, True)])
def test_requests_that_left_after_it_may_have_been_counted_before_it(missing, found):
    line = Line()
    first = line.send(SECOND)
    line.send(SECOND, in_flight=2)
    line.send(SECOND, in_flight=3)
    line.answer(first, missing, SECOND, in_flight=2)
    assert line.is_found(SECOND) is found


@pytest.mark.parametrize(("missing", "found"), [(103, False), (104, True)])
def test_requests_on_their_way_when_it_left_may_have_been_counted_before_it(missing, found):
    line = Line()
    line.send(SECOND)
    line.send(SECOND, in_flight=2)
    last = line.send(SECOND, in_flight=3)
    line.answer(last, missing, SECOND, in_flight=2)
    assert line.is_found(SECOND) is found


@pytest.mark.parametrize(
    ("at_ns", "missing", "found"),
    [
        (11 * SECOND, 222, False),
        (11 * SECOND, 223, True),
        (11 * SECOND + 1, 222, True),
        (11 * SECOND + 1, 221, False),
    ],
)
def test_a_request_without_an_answer_from_the_venue_may_be_counted_ten_seconds_late(
    at_ns, missing, found
):
    line = Line()
    line.answer(line.send(SECOND), None, SECOND, definite=False)
    line.ask(missing, at_ns)
    assert line.is_found(at_ns) is found


@pytest.mark.parametrize(("missing", "found"), [(104, False), (105, True)])
def test_what_was_answered_while_the_first_count_was_on_its_way_may_not_be_in_it(missing, found):
    line = Line()
    line.sharing = Sharing()
    first, second = line.send(0), line.send(0, in_flight=2)
    line.answer(second, None, 0, in_flight=1)
    line.answer(first, 2, 0)
    line.ask(missing, 0)
    assert line.is_found(0) is found


def test_an_answer_to_a_request_that_is_not_kept_says_nothing():
    line = Line()
    line.answer(99, 400, SECOND)
    assert not line.is_found(SECOND)
    line.answer(1, 400, SECOND)
    assert not line.is_found(SECOND)


def test_a_finding_lasts_half_a_minute():
    line = Line()
    line.ask(200, SECOND)
    assert line.is_found(31 * SECOND - 1)
    assert line.sharing.per_second(31 * SECOND - 1) == 199
    assert not line.is_found(31 * SECOND)
    assert line.sharing.per_second(31 * SECOND) == 0


def test_nothing_is_found_before_anything_was_seen():
    new = Sharing()
    assert (new.is_found(0), new.per_second(0), new.wants_look(0)) == (False, 0, False)


# --- counts that are false ------------------------------------------------------------------------


@pytest.mark.parametrize(("missing", "found"), [(95, True), (94, False)])
def test_a_finding_is_taken_back_by_more_tokens_than_can_have_flowed_in_since(missing, found):
    line = Line()
    line.ask(120, SECOND)
    line.ask(missing, 1_100 * MS)
    assert line.is_found(1_100 * MS) is found
    assert line.sharing.per_second(1_100 * MS) == (119 if found else 0)


def test_what_can_have_flowed_in_is_counted_from_when_the_request_left_that_found_it():
    line = Line()
    number = line.send(SECOND)
    line.answer(number, 120, 1_100 * MS)
    line.ask(95, 1_100 * MS)
    assert line.is_found(1_100 * MS)
    line.ask(94, 1_100 * MS)
    assert not line.is_found(1_100 * MS)


def test_an_answer_to_a_request_that_was_on_its_way_takes_no_finding_back():
    line = Line()
    first = line.send(SECOND)
    second = line.send(SECOND, in_flight=2)
    line.answer(first, 200, SECOND, in_flight=1)
    line.answer(second, 2, SECOND)
    assert line.is_found(SECOND)
    line.ask(3, SECOND)
    assert not line.is_found(SECOND)


def test_what_several_answers_found_is_taken_back_by_as_many():
    line = Line()
    for at_ns in (1_000 * MS, 1_010 * MS, 1_020 * MS):
        line.ask(200, at_ns)
    still = []
    for at_ns in (1_030 * MS, 1_040 * MS, 1_050 * MS):
        line.ask(1, at_ns)
        still.append(line.is_found(at_ns))
    assert still == [True, True, False]


def test_what_was_found_before_stays_found_where_a_false_count_is_taken_back():
    line = Line()
    line.ask(200, SECOND)
    line.ask(420, 20 * SECOND)
    assert line.sharing.per_second(20 * SECOND) == 20
    line.ask(1, 20 * SECOND + MS)
    assert line.sharing.per_second(20 * SECOND + MS) == 199
    assert line.is_found(31 * SECOND - 1)
    assert not line.is_found(31 * SECOND)


def test_what_many_short_looks_found_stays_found_where_counts_are_taken_back():
    line = looks(1, 43, 5 * MS)
    at_ns = 215 * MS
    for missing in (150, 150, 150, 1, 1, 1):
        at_ns += 5 * MS
        line.ask(missing, at_ns)
    # Four looks of 47 were short; four of 50 are too few to find anything anew.
    assert line.is_found(at_ns)
    assert line.sharing.per_second(at_ns) == 21


# --- where counts begin anew ----------------------------------------------------------------------


def test_a_count_begins_a_new_model_every_half_window_and_old_ones_go():
    line = Line()
    begun = []
    for at_ns in (2_500 * MS - 1, 2_500 * MS, 5_000 * MS - 1, 5_000 * MS, 7_500 * MS):
        line.ask(1, at_ns)
        begun.append([model.from_ns // MS for model in line.sharing._models])
    assert begun == [[0], [0, 2_500], [0, 2_500], [2_500, 5_000], [5_000, 7_500]]


def test_what_somebody_took_before_the_first_count_is_no_finding():
    line = Line()
    line.sharing = Sharing()
    line.ask(450, 0)
    line.ask(201, SECOND)
    assert not line.is_found(SECOND)
    assert not line.sharing.wants_look(SECOND)


# --- a full bucket --------------------------------------------------------------------------------


def looks(short: int, whole: int, every_ns: int = 100 * MS) -> Line:
    """A line that saw the bucket whole so many times, and then short of one token as often."""
    line = Line()
    for number in range(1, whole + short):
        line.ask(2 if number >= whole else 1, number * every_ns)
    return line


@pytest.mark.parametrize(
    ("short", "whole", "per_second"),
    [
        (3, 1, 0),  # three are too few to tell
        (4, 1, 250),
        (4, 45, 0),  # 4 of 48 looks, of the 250 that flow in: 20 a second
        (4, 44, 21),
        (5, 40, 28),
    ],
)
def test_a_bucket_that_is_seen_short_often_enough_is_shared(short, whole, per_second):
    line = looks(short, whole)
    assert line.sharing.per_second((short + whole - 1) * 100 * MS) == per_second


def test_a_short_look_asks_for_another_for_five_seconds():
    line = Line()
    line.ask(1, SECOND)
    assert not line.sharing.wants_look(SECOND)
    line.ask(2, 2 * SECOND)
    assert line.sharing.wants_look(2 * SECOND)
    assert line.sharing.wants_look(7 * SECOND)
    assert not line.sharing.wants_look(7 * SECOND + 1)


def test_looks_older_than_five_seconds_do_not_count():
    line = looks(4, 1)
    assert line.is_found(400 * MS)
    line = Line()
    for at_ns in (0, MS * 5, MS * 10):
        line.ask(2, SECOND + at_ns)
    line.ask(2, 6 * SECOND + 1)
    assert not line.is_found(6 * SECOND + 1)
    line = Line()
    for at_ns in (0, MS * 5, MS * 10):
        line.ask(2, SECOND + at_ns)
    line.ask(2, 6 * SECOND)
    assert line.is_found(6 * SECOND)


def test_a_look_ends_only_when_nothing_is_on_its_way():
    line = Line()
    first = line.send(SECOND)
    second = line.send(SECOND, in_flight=2)
    line.answer(first, 4, SECOND, in_flight=1)
    assert not line.sharing.wants_look(SECOND)
    line.answer(second, None, SECOND)
    assert line.sharing.wants_look(SECOND)
    assert len(line.sharing._looks) == 1


def test_what_is_kept_of_requests_that_are_never_answered_is_bounded():
    line = Line()
    for _ in range(2_050):
        line.send(SECOND)
    assert len(line.sharing._sent) == 2_000
    assert next(iter(line.sharing._sent)) == 52


def test_the_looks_that_were_short_are_counted_however_they_come_and_go():
    line, at_ns, counts = Line(), 0, set()
    for number in range(1, 1_400):
        # More than are kept within the window, and later a pause in which all grow too old.
        at_ns += 6 * SECOND if number == 1_300 else 4 * MS
        line.ask(9 if number % 7 == 0 else 1, at_ns)
        of = line.sharing
        recent = [look.short for look in of._looks if at_ns - look.at_ns <= 5 * SECOND]
        assert len(of._looks) <= 1_000
        assert of._shorts == sum(look.short for look in of._looks)
        assert of.wants_look(at_ns) is any(recent)
        counts.add(of._shorts)
    assert max(counts) > 100
    assert len(counts) > 100

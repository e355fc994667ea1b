"""Claims about the calendar of a file: entries, .ics files, their faults and their changes."""

import pytest

from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.core import messages as m
from bot.core.settings import CalendarEntry
from bot.core.trading_state import TradingState
from tests.builders.config.live import SMALL, Bot
from venue.wire.instant import NS_PER_SECOND, to_ns

ICS = """\
BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;TZID=America/New_York:20270128T160000
SUMMARY:Q4 re
 sults\\, call
BEGIN:VALARM
TRIGGER:-PT15M
END:VALARM
END:VEVENT
BEGIN:VEVENT
STATUS:CANCELLED
DTSTART;VALUE=DATE:20270129
END:VEVENT
END:VCALENDAR
"""


def loaded(folder, *entries: str) -> BotConfig:
    path = folder / "bot.yaml"
    path.write_text(SMALL + "".join(["calendar:\n", *(f"  - {each}\n" for each in entries)]))
    return finish(read_draft(path))


def faults(folder, *entries: str) -> tuple[str, ...]:
    with pytest.raises(ConfigFault) as raised:
        loaded(folder, *entries)
    return raised.value.faults


def test_an_entry_becomes_a_setting_of_the_trader(tmp_path):
    text = "{at: 2027-01-28T16:00:00-05:00, name: results, event: aurelia-val-27q1, after_ms: 0}"
    assert loaded(tmp_path, text).trader.calendar == (
        CalendarEntry(
            at_ns=to_ns("2027-01-28T21:00:00Z"),
            name="results",
            event_ticker="AURELIA-VAL-27Q1",
            before_ns=7_200 * NS_PER_SECOND,
            after_ns=0,
            state=TradingState.HALTED,
        ),
    )


def test_an_entry_may_widen_quotes_or_bring_variance_without_restricting_anything(tmp_path):
    wide = "{at: 2027-01-28T21:00:00Z, name: x, state: active, width_pct: 150}"
    worth = "{at: 2027-01-28T21:00:00Z, name: x, before_ms: 0, after_ms: 0, variance_hours: 240}"
    one, other = loaded(tmp_path, wide, worth).trader.calendar
    assert (one.state, one.width_pct, one.variance_ns) == (TradingState.ACTIVE, 150, 0)
    assert (other.width_pct, other.variance_ns) == (100, 10 * 86_400 * NS_PER_SECOND)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{at: 2027-01-28, name: x}", "at: '2027-01-28'; accepted: an instant of RFC 3339"),
        ("{at: 2027-01-28T21:00:00Z}", "name: missing; accepted: 1 to 80 characters"),
        ("{name: x}", "at: exactly one of at and file is wanted"),
        ("{at: 2027-01-28T21:00:00Z, file: a.ics, name: x}", "at: exactly one of at and file"),
        ("{at: 2027-01-28T21:00:00Z, name: x, state: killed}", "state: 'killed'; accepted: activ"),
        ("{at: 2027-01-28T21:00:00Z, name: x, before_ms: 2h}", "before_ms: '2h'; accepted: a who"),
        ("{at: 2027-01-28T21:00:00Z, name: x, event: a/b}", "event: 'a/b'; accepted: letters"),
        (
            "{at: 2027-01-28T21:00:00Z, name: x, before_ms: 0, after_ms: 0}",
            "after_ms: 0, and before_ms too: it would never restrict",
        ),
        (
            "{at: 2027-01-28T21:00:00Z, name: x, state: active}",
            "state: 'active': it would change nothing; accepted: another, or a width_pct above 1",
        ),
        ("{file: none.ics}", "file: 'none.ics' cannot be read: No such file"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_line_key_and_value(tmp_path, entry, said):
    (fault,) = faults(tmp_path, entry)
    assert fault.startswith(f"{tmp_path}/bot.yaml:7: calendar.0.{said}")


def test_single_events_of_an_ics_file_are_entries_but_for_cancelled_ones(tmp_path):
    (tmp_path / "a.ics").write_bytes(ICS.replace("\n", "\r\n").encode())
    config = loaded(tmp_path, "{file: a.ics, state: reduced, size_divisor: 4}")
    (entry,) = config.trader.calendar
    assert (entry.at_ns, entry.name) == (to_ns("2027-01-28T21:00:00Z"), "Q4 results, call")
    assert (entry.state, entry.size_divisor) == (TradingState.REDUCED, 4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("STATUS:CANCELLED\n", "", "line 11: DTSTART;VALUE=DATE:20270129; accepted: a date and"),
        ("America/New_York", "Nowhere", "line 3: DTSTART;TZID=Nowhere:20270128T160000; accepted"),
        (";TZID=America/New_York", "", "line 3: DTSTART:20270128T160000; accepted: a date and"),
        ("0128T16", "0230T16", "line 3: DTSTART;TZID=America/New_York:20270230T160000; accept"),
        ("SUMMARY", "RRULE:FREQ=DAILY\nSUMMARY", "line 4: RRULE: the event repeats; accepted"),
        ("END:VALARM\n", "", "line 8: 'END:VEVENT'; accepted: END:VALARM"),
        ("END:VCALENDAR\n", "", "line 14: ends here; accepted: END:VCALENDAR before"),
        (ICS, "<html>", "line 1: '<html>'; accepted: BEGIN:VCALENDAR"),
        (ICS, "", "line 1: ends here; accepted: BEGIN:VCALENDAR before"),
    ],
)
def test_a_wrong_ics_file_is_refused_with_its_line(tmp_path, old, new, said):
    (tmp_path / "a.ics").write_text(ICS.replace(old, new, 1))
    (fault,) = faults(tmp_path, "{file: a.ics}")
    assert fault.startswith(f"{tmp_path}/bot.yaml:7: calendar.0.file: 'a.ics', {said}")


def test_a_running_bot_takes_a_first_calendar_and_a_changed_ics_file_over(tmp_path):
    bot = Bot(tmp_path)
    text = SMALL + "calendar:\n  - {file: a.ics}\n"
    names = []
    for ics in (ICS, ICS.replace("Q4 re", "Q4 new re")):
        (tmp_path / "a.ics").write_text(ics)
        assert isinstance(bot.change("", "", text), m.Reconfigured)
        names += [each.name for each in bot.trader.reconfiguration.settings.calendar]
    assert names == ["Q4 results, call", "Q4 new results, call"]
    assert bot.change("", "", text) is None

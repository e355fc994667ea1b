"""A session and what would have come of it as text: what happened, the model on it, the
difference.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from bot.lab.what_if.compare import ModelResult, WhatIfResult
from bot.lab.what_if.figures import Quoted, RunFigures
from venue.wire import instant
from venue.wire.instant import NS_PER_MS

_NAME: Final = 30
_WIDE: Final = 13

_Number = Callable[[RunFigures], float | None]


def _profit(part: str) -> _Number:
    return lambda of: None if of.profit is None else getattr(of.profit, part) / 100_000


_ROWS: Final[tuple[tuple[str, _Number, int], ...]] = (
    ("profit $", _profit("profit"), 2),
    ("  spread $", _profit("spread"), 2),
    ("  adverse $", _profit("adverse"), 2),
    ("  drift $", _profit("drift"), 2),
    ("  less fees $", _profit("fees"), 2),
    ("fills", lambda of: of.fills, 0),
    ("  shares that came", lambda of: of.maker_qty, 0),
    ("  shares that we took", lambda of: of.taker_qty, 0),
    ("requests: create", lambda of: of.requests["create"], 0),
    ("  amend", lambda of: of.requests["amend"], 0),
    ("  cancel", lambda of: of.requests["cancel"], 0),
    ("  read", lambda of: of.requests["read"], 0),
    ("refused", lambda of: sum(of.refused.values()), 0),
    ("unknown", lambda of: of.unknown, 0),
    ("worst case $", lambda of: of.worst_case_max_cents / 100, 2),
    ("quoted, % of time", lambda of: 100 * of.present, 1),
)


def text(told: WhatIfResult) -> str:
    """The whole of it."""
    return "\n".join([*_head(told), "", *_figures(told), "", *_quotes(told), "", *notes(told)])


def _head(told: WhatIfResult) -> Iterator[str]:
    minutes = (told.ended_ns - told.begun_ns) / 60e9
    yield (
        f"session {told.nonce}, {told.segments[0]}, from {instant.from_ns(told.begun_ns)}, "
        f"{minutes:.1f} minutes, {told.records} records of the market"
    )
    if told.cut:
        yield f"told up to {instant.from_ns(told.ended_ns)} alone: {told.cut}"
    for change in told.changed:
        yield f"changed  {change.key}: {change.old} -> {change.new}"
    if not told.changed:
        yield "nothing is other than it was: only the model beside what happened"


def _cell(value: float | None, digits: int, sign: str = "") -> str:
    return f"{'-':>{_WIDE}}" if value is None else f"{value:{sign}{_WIDE},.{digits}f}"


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _figures(told: WhatIfResult) -> Iterator[str]:
    """A block for each reading: what happened, the model on the same, its error, and the other."""
    for played in told.played:
        heads = ["happened", "unchanged", "model error"]
        heads += [] if played.changed is None else ["changed", "difference"]
        name = f"under {played.reading}"
        yield f"{name:<{_NAME}}" + "".join(f"{head:>{_WIDE}}" for head in heads)
        for row, number, digits in _ROWS:
            then, same = number(told.happened), number(played.unchanged)
            cells = [_cell(then, digits), _cell(same, digits)]
            cells.append(_cell(_less(same, then), digits, sign="+"))
            if played.changed is not None:
                other = number(played.changed)
                cells += [_cell(other, digits), _cell(_less(other, same), digits, sign="+")]
            yield f"{row:<{_NAME}}" + "".join(cells)
        yield ""
    yield (
        "unchanged: the model on the unchanged configuration; model error: that less what happened"
    )
    if told.changed:
        yield "difference: changed less unchanged, both of the model"


def _quotes(told: WhatIfResult) -> Iterator[str]:
    """Presence and price of every rung and side: happened, unchanged and changed."""
    for played in told.played:
        sides = {"happened": told.happened, "unchanged": played.unchanged}
        sides |= {} if played.changed is None else {"changed": played.changed}
        longest = max((len(quoted.ticker) for quoted in told.happened.quotes), default=0)
        wide = max(_NAME, longest + 6)
        heads = "".join(f"{f'{head}: % at c x qty':>28}" for head in sides)
        yield f"{f'quotes, {played.reading}':<{wide}}{heads}"
        for row in zip(*(side.quotes for side in sides.values()), strict=True):
            cells = "".join(f"{_quote(quoted):>28}" for quoted in row)
            yield f"{f'{row[0].ticker} {row[0].side}':<{wide}}{cells}"


def _quote(quoted: Quoted) -> str:
    if quoted.price_cents is None or quoted.qty is None:
        return "never"
    return f"{100 * quoted.present:5.1f} {quoted.price_cents:6.2f} x{quoted.qty:6.1f}"


def notes(told: WhatIfResult) -> list[str]:
    """What a reader has to know beside the numbers, a line each."""
    lines = [
        f"{told.given_back} prints had filled us and are there for whoever would have met them",
        f"requests take as long as they took then, a write {told.write_ns / NS_PER_MS:.0f} ms in "
        f"the middle, the channel {told.feed_ns / NS_PER_MS:.0f} ms",
        "the others do as they did: nobody answers to other quotes, and no request fails",
    ]
    if told.beside:
        lines.append(
            f"{', '.join(told.beside)} traded beside it then: what those take of the request bucket"
            " and of the common limit of loss is not there, in either row of the model"
        )
    if told.short_qty:
        lines.append(
            f"{told.short_qty} shares of ours should have stood in books and did not: the market "
            "without us is not known exactly"
        )
    lines += _troubles("happened", told.happened)
    for played in told.played:
        lines += _troubles(f"{played.reading}, unchanged", played.unchanged)
        lines += _troubles(f"{played.reading}, changed", played.changed)
        lines += _doubts(told.happened, played)
    return lines


def _troubles(name: str, of: RunFigures | None) -> Iterator[str]:
    """What kept one side from quoting as its strategy would have."""
    if of is None:
        return
    if of.latched:
        yield f"{name}: latched: {of.latched}"
    if of.strategy_errors:
        yield f"{name}: {of.strategy_errors} strategy errors, the first: {of.strategy_fault}"


def _doubts(happened: RunFigures, played: ModelResult) -> Sequence[str]:
    """Whether the difference in profit is beyond the model's own error."""
    number = _profit("profit")
    then, same = number(happened), number(played.unchanged)
    other = None if played.changed is None else number(played.changed)
    error, difference = _less(same, then), _less(other, same)
    if error is None or difference is None or abs(difference) > abs(error):
        return ()
    return (
        f"{played.reading}: the profit differs by {difference:+.2f} $, the model is off by "
        f"{error:+.2f} $ on what is known: that difference says nothing",
    )

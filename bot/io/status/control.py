"""Commands to a running bot, with a token: pause, resume, flatten, reduce, exit, cancel all, reset,
raise a loss budget, set or clear a value.

Off unless `status.control: true`; then a token is in the state directory, for its owner alone.
"""

import asyncio
import enum
import hmac
import math
import secrets
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import EventReport, Phase, Report
from bot.core.settings import OPERATOR, BudgetPeriod
from bot.core.trading_state import Restriction, Source, TradingState
from bot.io.client.answers import plain
from bot.io.faults import OperatorError
from bot.io.secret import Secret, SecretFault, checked
from bot.io.state.atomic_file import read_file, replace_file
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile, LatchFault
from bot.io.status.snapshot import Snapshot, StatusSource
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import NOTIONAL_CENTS_MAX
from venue.wire.money import Cents
from venue.wire.names import Ticker

TOKEN_NAME: Final = "control-token"  # noqa: S105 - the file's name, not a token
REASON_MAX: Final = 200
_TTL_MS_MAX: Final = 366 * 86_400_000
_TOKEN_BYTES: Final = 32

_TAKEN_NS: Final = NS_PER_SECOND // 10
"""A report this much newer than a command shows its effect."""

_LOOK_AGAIN_S: Final = 0.05
_LOOKS: Final = 30


class ControlFault(OperatorError):
    """The token cannot be had; the text says what to do."""


class Action(enum.StrEnum):
    """Also the last part of its path."""

    PAUSE = "pause"
    RESUME = "resume"
    FLATTEN = "flatten"
    REDUCE = "reduce"
    EXIT = "exit"
    CANCEL_ALL = "cancel-all"
    RESET = "reset"
    RAISE_BUDGET = "raise-budget"
    SET_VALUE = "set-value"
    CLEAR_VALUE = "clear-value"


class BudgetMore(msgspec.Struct, frozen=True):
    """What a person gives a loss budget: cents > 0."""

    period: BudgetPeriod
    cents: Cents


WITHIN_MS: Final = (1_000, 86_400_000)
"""The least and the most time of an exit."""


class ExitTerms(msgspec.Struct, frozen=True):
    """How an event is exited. Raises ValueError beyond `WITHIN_MS` and `NOTIONAL_CENTS_MAX`."""

    within_ms: int
    max_cost_cents: int

    @classmethod
    def checked(cls, within_ms: int, max_cost_cents: int) -> "ExitTerms":
        least, most = WITHIN_MS
        if not least <= within_ms <= most:
            raise ValueError(f"within {within_ms} ms; accepted: {least} to {most}")
        if not 0 <= max_cost_cents <= NOTIONAL_CENTS_MAX:
            accepted = f"accepted: 0 to {NOTIONAL_CENTS_MAX}"
            raise ValueError(f"a cost of {max_cost_cents} cents; {accepted}")
        return cls(within_ms, max_cost_cents)


class ReduceTerms(msgspec.Struct, frozen=True):
    """How sizes are reduced. size_divisor: 2 to `DIVISOR_MAX`."""

    size_divisor: int


DIVISOR_MAX: Final = 1_000


class ValueCommand(msgspec.Struct, frozen=True):
    """A value of the operator's, to be set or cleared. about: the ticker of a series, event or
    market; None when all are cleared. ttl_ms: how long it holds."""

    about: Ticker | None = None
    unit: m.ValueUnit = m.ValueUnit.DOLLARS
    value: float = 0.0
    sd: float = 0.0
    ttl_ms: int = 0

    def fault(self, action: Action) -> str:
        """Why it cannot be carried out; "" if it can."""
        if action is not Action.SET_VALUE:
            return ""
        highest = 1.0 if self.unit is m.ValueUnit.CHANCE else math.inf
        if self.about is None:
            return "about: the ticker of a series, event or market is wanted"
        if not 0 < self.value < highest:
            return "value: above 0, and a chance below 1"
        if not 0 < self.sd < highest:
            return "sd: above 0, and of a chance below 1"
        return "" if 0 < self.ttl_ms <= _TTL_MS_MAX else f"ttl_ms: 1 to {_TTL_MS_MAX}"

    def event(self, action: Action, now_ns: int) -> m.Event:
        """The event for the trader."""
        if action is Action.CLEAR_VALUE or self.about is None:
            return m.OutsideValueCleared(OPERATOR, self.about)
        until_ns = now_ns + self.ttl_ms * NS_PER_MS
        return m.OutsideValue(
            OPERATOR, self.about, self.unit, self.value, self.sd, now_ns, until_ns
        )


Terms = BudgetMore | ExitTerms | ReduceTerms | ValueCommand
"""What a command takes besides its reason."""


class Control:
    """The commands to the traders of this process, by series."""

    def __init__(self, token: Secret, shown: Mapping[Ticker, StatusSource]) -> None:
        self._token = token
        self._shown = shown
        self._told_ns: dict[Ticker, int] = {}

    def admits(self, authorization: str | None) -> bool:
        """True if an Authorization header holds the token; takes the same time for any other."""
        scheme, _, given = (authorization or "").partition(" ")
        fits = hmac.compare_digest(given.strip().encode(), self._token.reveal().encode())
        return fits and scheme.lower() == "bearer"

    async def send_command(
        self,
        action: Action,
        reason: str,
        series: Ticker | None = None,
        event: Ticker | None = None,
        terms: Terms | None = None,
        *,
        account: bool = False,
    ) -> str | None:
        """Send a command to one series, or to all. None once it was sent; else why it makes no
        sense for every one of them.

        reason: 1 to REASON_MAX characters, the caller's own words. event: pause, resume, flatten,
        reduce or exit this one alone. terms: of an exit, a reduction, a raise or a value. account:
        it is about the account, and sent to all.
        """
        tickers = list(self._shown) if series is None or account else [series]
        refusals = [
            await self._ask(action, reason, each, event, terms, account) for each in tickers
        ]
        refused = [refusal for refusal in refusals if refusal]
        structlog.stdlib.get_logger("bot").warning(
            "control",
            action=action.value,
            series=", ".join(tickers),
            **({"account": True} if account else {}),
            **({} if event is None else {"event_ticker": event}),
            **({} if terms is None else msgspec.structs.asdict(terms)),
            reason=plain(reason),
            refused="; ".join(refused),
        )
        return "; ".join(sorted(set(refused))) if len(refused) == len(refusals) else None

    async def _ask(
        self,
        action: Action,
        reason: str,
        ticker: Ticker,
        event: Ticker | None,
        terms: Terms | None,
        account: bool,
    ) -> str:
        """Why it makes no sense, else ""."""
        shown = self._shown[ticker]
        snapshot = await self._picture(ticker)
        scope = (event, account)
        refusal = "" if snapshot is None else _refusal(action, snapshot.report, scope, terms)
        if refusal:
            return refusal
        newest = shown.look()
        self._told_ns[ticker] = 0 if newest is None else newest.now_ns
        match action:
            case Action.PAUSE:
                shown.tell(m.PauseRequested(reason, event, account))
            case Action.CANCEL_ALL:
                shown.tell(m.PauseRequested(f"cancel all: {reason}"))
            case Action.RESUME:
                shown.tell(m.ResumeRequested(reason, event, account))
            case Action.FLATTEN:
                shown.tell(m.FlattenRequested(reason, event, account))
            case Action.REDUCE:
                if not isinstance(terms, ReduceTerms):
                    return "a reduction needs a size_divisor"
                shown.tell(m.ReduceRequested(reason, terms.size_divisor, event, account))
            case Action.RAISE_BUDGET if isinstance(terms, BudgetMore):
                shown.tell(m.RaiseBudget(terms.period, terms.cents, reason))
            case Action.EXIT:
                if event is None or not isinstance(terms, ExitTerms):
                    return "an exit needs an event, a time and a cost"
                within_ns, most_cents = terms.within_ms * NS_PER_MS, Cents(terms.max_cost_cents)
                shown.tell(m.ExitRequested(event, within_ns, most_cents, reason))
            case Action.RESET:
                return await self._reset(reason, shown)
            case Action.SET_VALUE | Action.CLEAR_VALUE:
                if newest is None:
                    return "it starts"
                shown.tell(_value_of(terms).event(action, newest.now_ns))
        return ""

    async def _picture(self, ticker: Ticker) -> Snapshot | None:
        """The newest snapshot that shows the last command's effect; None when none comes soon."""
        told_ns = self._told_ns.get(ticker)
        if told_ns is None:
            return self._shown[ticker].look()
        for _ in range(_LOOKS):
            snapshot = self._shown[ticker].look()
            if snapshot is None or snapshot.report.now_ns > told_ns + _TAKEN_NS:
                return snapshot
            await asyncio.sleep(_LOOK_AGAIN_S)
        return None

    async def _reset(self, reason: str, shown: StatusSource) -> str:
        """Remove the latch, from the disk first, as `bot reset` does."""
        if shown.state is None:
            return "this bot keeps no latch"
        try:
            # Off the loop: it syncs the disk, and the cancels must not wait for that.
            removed = await asyncio.to_thread(_unlatch, shown.state)
        except LatchFault as fault:
            return str(fault)
        snapshot = shown.look()
        if not removed and (snapshot is None or not snapshot.report.latched):
            return "nothing is latched"
        shown.tell(m.LatchCleared(reason))
        return ""


def _unlatch(folder: Path) -> bool:
    removed = KillSwitchFile(folder).clear()
    CrashLog(folder).forget_crashes()
    return removed


Scope = tuple[Ticker | None, bool]
"""The event that a command is about, None for all of them; and True if it is about the account."""


def _refusal(action: Action, report: Report, scope: Scope, terms: Terms | None) -> str:
    """Why an action makes no sense now; "" when it does."""
    phase, (event, account) = report.phase, scope
    scopeless = Action.CANCEL_ALL, Action.RESET, Action.EXIT, Action.RAISE_BUDGET
    if account and (event is not None or action in scopeless):
        return f"{action} is not for the account" if event is None else "an event, or the account"
    if phase in (Phase.STOPPING, Phase.STOPPED):
        return f"it is {phase}"
    if phase is Phase.LATCHED and action in (Action.RESUME, Action.FLATTEN, Action.EXIT):
        return "it is latched: look at the reason, then reset"
    restricted: dict[Ticker | None, tuple[Restriction, ...]] = {None: report.restrictions}
    restricted |= {each.event_ticker: each.restrictions for each in report.events}
    if event not in restricted:
        return f"no event {event} in {report.series_ticker}"
    stated: dict[Scope, Restriction] = {
        (ticker, each.of_account): each
        for ticker, restrictions in restricted.items()
        for each in restrictions
        if each.source is Source.OPERATOR
    }
    word = stated.get(scope)
    of_event = next((each for each in report.events if each.event_ticker == event), None)
    match action:
        case Action.RAISE_BUDGET:
            wanted = terms.period if isinstance(terms, BudgetMore) else None
            if wanted is None or all(each.period is not wanted for each in report.loss_budgets):
                return f"no loss budget for {wanted} that was judged yet: see loss_budgets"
        case Action.CANCEL_ALL | Action.RESET if event is not None:
            return f"{action} is for the whole series"
        case Action.EXIT if of_event is None:
            return "an exit is for one event"
        case Action.EXIT | Action.FLATTEN if of_event is not None and _exits(of_event):
            return "an exit runs there: resume the event first"
        case Action.EXIT if of_event is not None and not _holds_any(of_event):
            return "no inventory is held there"
        case Action.PAUSE if word is not None and word.state is TradingState.HALTED:
            return "it is paused already"
        case Action.RESUME if phase is not Phase.STARTING and not _ends_any(scope, stated):
            of_account = stated.get((None, True))
            if of_account is not None:
                return f"the account is {of_account.state}: resume the account"
            return "it is quoting already"
        case Action.FLATTEN if word is not None and word.state is TradingState.REDUCE_ONLY:
            return "it is flattening already"
        case Action.REDUCE if word is not None and word.state.level > TradingState.REDUCED.level:
            return f"it is {word.state} by the operator: resume it first"
        case Action.CANCEL_ALL if phase is Phase.PAUSED and not _may_rest(report):
            return "nothing rests, and it is paused"
        case Action.RESET if phase is not Phase.LATCHED and not report.latched:
            return "nothing is latched"
        case Action.SET_VALUE | Action.CLEAR_VALUE:
            return _value_refusal(action, report, _value_of(terms))
    return ""


def _ends_any(scope: Scope, stated: Collection[Scope]) -> bool:
    """True if a resume of this scope ends a word of the operator: one about it, or about what is
    in it."""
    event, account = scope
    return any(
        event in (None, of_event) and (account or not of_account) for of_event, of_account in stated
    )


def _exits(event: EventReport) -> bool:
    return event.exit is not None and not event.exit.over


def _holds_any(event: EventReport) -> bool:
    return any(rung.yes_qty != rung.no_qty for rung in event.rungs)


def _value_of(terms: Terms | None) -> ValueCommand:
    return terms if isinstance(terms, ValueCommand) else ValueCommand()


def _value_refusal(action: Action, report: Report, value: ValueCommand) -> str:
    """Why a value makes no sense here; "" when it does."""
    if fault := value.fault(action):
        return fault
    events = {each.event_ticker for each in report.events}
    markets = {rung.ticker for event in report.events for rung in event.rungs}
    names = {report.series_ticker, *events}
    if action is Action.CLEAR_VALUE:
        stated = {
            row.about
            for event in report.events
            for row in event.outside_values
            if row.source == OPERATOR
        }
        if value.about is None:
            return "" if stated else "the operator has stated no value"
        return "" if value.about in stated else f"the operator has stated nothing of {value.about}"
    if value.about in (names if value.unit is m.ValueUnit.DOLLARS else markets):
        return ""
    kind = "series or event" if value.unit is m.ValueUnit.DOLLARS else "market"
    return f"{value.unit} need a {kind} of {report.series_ticker}, and {value.about} is none"


def _may_rest(report: Report) -> bool:
    return bool(report.resting or report.unknown_open or report.in_flight)


def token_in(folders: Iterable[Path]) -> Secret:
    """The token of these state directories, mode 0600: the first found, or a fresh one, then in
    each of them. Raises ControlFault when the disk refuses."""
    places = [folder / TOKEN_NAME for folder in folders]
    found = next(filter(None, map(_kept, places)), None)
    token = found or Secret(secrets.token_urlsafe(_TOKEN_BYTES))
    for place in places:
        kept = _kept(place)
        if kept is None or kept.reveal() != token.reveal():
            try:
                replace_file(place, token.reveal().encode() + b"\n")
            except OSError as fault:
                raise ControlFault(f"{place} cannot be written: {fault.strerror}") from None
    return token


def _kept(place: Path) -> Secret | None:
    """The token in a file; None when there is none, or others could have read or written it."""
    try:
        content = read_file(place)
        if content is None or place.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return None
        return checked(content.decode("ascii"), str(place))
    except (OSError, UnicodeDecodeError, SecretFault):
        return None

"""A start that is refused leaves nothing of ours resting.

A killed run leaves its orders at the venue, and the start that would take them over may be refused:
after three crashes, or for its configuration, key, address, state directory or port. Before it
exits, it cancels what the journal knows as ours and, unless `start.unknown_orders` is `refuse`,
whatever rests in the rungs of its series. Two lists prove that nothing is left; else it says what
may be.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    fail,
    keep_memory_private,
    key_of,
)
from venue.wire import instant
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

if TYPE_CHECKING:
    from bot.config.bot_config import Draft, ExternalSettings
    from bot.core.execution.cancel_all import SweepSettings, Verdict
    from bot.io.journal.recovery import RecoveredState
    from bot.io.secret import Secret
    from bot.io.state.small_files import Remains
    from venue.wire.names import Ticker

DEADLINE_NS: Final = 10 * NS_PER_SECOND
"""How long cancelling and proving may take."""

CANCEL_ADVICE: Final = "bot cancel-all CONFIG --verify cancels what rests and proves it"

_REQUEST_S: Final = 4.0
"""No request holds up the exit for longer."""

_NEEDED: Final = frozenset({"name", "series", "venue", "state", "start"})
"""The sections that must be right to know what is ours and where."""


@contextmanager
def nothing_left_behind(drafts: "Sequence[Draft]", state_dir: Path | None) -> Iterator[None]:
    """Where the block refuses to start, cancel what earlier runs left, and end the process with
    what refused it and what rests: with 4 where orders may rest, else with the fault's own code."""
    from bot.config.bot_config import ConfigFault
    from bot.io.faults import OperatorError

    try:
        yield
    except (ConfigFault, OperatorError) as fault:
        left = [
            remains
            for draft in drafts
            if (remains := _withdraw(draft, state_dir, len(drafts) == 1, fault)) is not None
        ]
        if not left:
            raise
        lines = [str(fault), *(remains.text for remains in left)]
        code = EXIT_CONFIGURATION if isinstance(fault, ConfigFault) else EXIT_VENUE
        if not all(remains.verified for remains in left):
            code = EXIT_LEFT_OVER
            lines.append(CANCEL_ADVICE)
        fail(code, "\n".join(lines))


def _withdraw(
    draft: "Draft", state_dir: Path | None, alone: bool, refusal: Exception
) -> "Remains | None":
    """Cancel what earlier runs of a configuration left and keep what came of it. None where nothing
    can have been left, where its own venue is gone with it, and where a bot runs that minds it."""
    from bot.config.bot_config import ConfigFault, ExternalSettings, spared
    from bot.core.messages import JournalFate
    from bot.io.journal.journal import left_in
    from bot.io.journal.records import JournalFault
    from bot.io.journal.recovery import RecoveredState
    from bot.io.state.kill_switch_file import CrashLog
    from bot.io.state.locks import StateDirectory, StateFault, held_by_a_bot
    from bot.io.state.small_files import Remains, keep_remains

    known = spared(draft, _NEEDED) if draft.faults else draft
    if known is None or not isinstance(known.venue, ExternalSettings):
        return None
    folder = known.state.directory
    if state_dir is not None:
        folder = state_dir if alone else state_dir / known.name
    with ExitStack() as held:
        try:
            if held_by_a_bot(folder):
                return None
            if not folder.is_dir():
                raise StateFault(f"state directory {folder}: not there")
            held.callback(StateDirectory.open(folder).close)
            memory = left_in(folder)
            if not (_names(memory) or memory.damage or CrashLog(folder).has_crashed):
                return None
        except JournalFault:
            memory = RecoveredState(JournalFate.DAMAGED)
        except (StateFault, OSError):
            # Nobody can tell what earlier runs left, unless the folder was never there.
            if isinstance(refusal, ConfigFault) and not folder.exists():
                return None
            memory = RecoveredState(JournalFate.LOST)
        found = _cancelled(known, known.venue, folder, memory, held)
        if found is None:
            return None
        verified, text, cancelled = found
        at = instant.from_ns(time.time_ns())
        remains = Remains(at, str(refusal), verified, text, cancelled)
        keep_remains(folder, remains)
    return remains


def _cancelled(
    draft: "Draft",
    venue: "ExternalSettings",
    folder: Path,
    memory: "RecoveredState",
    held: ExitStack,
) -> tuple[bool, str, int] | None:
    """Cancel what is ours. Whether two lists have shown that nothing of it rests, that in words,
    and how many orders were cancelled. None where nothing of ours can rest, and where the account
    is another bot's and nothing is known to be ours."""
    import msgspec

    from bot.core.messages import JournalFate
    from bot.core.settings import Strangers
    from bot.io.faults import OperatorError
    from bot.io.journal.recovery import EMBEDDED, address_kept
    from bot.io.state.locks import AccountFault, AccountLock
    from venue.wire.names import fold_ticker

    names = _names(memory)
    kept = address_kept(folder)
    if kept == EMBEDDED:
        return None  # its venue is gone, and the orders with it
    if kept is not None and kept != venue.base_url:
        return False, f"{_may_rest(memory)} at {kept}", 0
    keys, read_key = _keys(draft, venue)
    if not keys:
        return False, f"no key can be read, so nothing was cancelled: {_may_rest(memory)}", 0
    known_alone = draft.file.start.unknown_orders is Strangers.REFUSE
    why_alone = "start.unknown_orders: refuse"
    try:
        held.callback(AccountLock.acquire(venue.base_url, keys[0], folder).close)
    except AccountFault:
        if not names:
            return None
        known_alone, why_alone = True, "another bot trades the account"
    except OperatorError:
        pass  # a lock that cannot stand is no reason to leave orders resting
    # The file may name another series than the run that was killed traded.
    series = None if known_alone else fold_ticker(draft.file.series)
    ours = names if known_alone else names | _markets(memory)
    verdict = _swept(venue.base_url, keys, read_key, _settings(draft, series, ours))
    verified, text = _told(verdict, memory)
    if known_alone and memory.fate is not JournalFate.FOUND:
        return False, f"the journal cannot tell which orders are ours ({why_alone})", 0
    if verified and known_alone and memory.open_intents:
        # A list need not show by which create an order was made.
        return False, _may_rest(msgspec.structs.replace(memory, working=())), 0
    if verified and known_alone:
        text += f"; other orders in our rungs were left alone ({why_alone})"
    return verified, text, getattr(verdict, "cancelled", 0)


def _names(memory: "RecoveredState") -> frozenset[str]:
    """Ids and client ids of the orders that a journal knows as ours."""
    found: set[str] = {each.order.client_order_id for each in memory.open_intents}
    for order in memory.working:
        found |= {order.order_id, order.client_order_id}
    return frozenset(found)


def _markets(memory: "RecoveredState") -> frozenset[str]:
    """The markets in which a journal knows orders of ours."""
    intents = (each.order.market_id for each in memory.open_intents)
    return frozenset((*intents, *(order.market_id for order in memory.working)))


def _keys(draft: "Draft", venue: "ExternalSettings") -> "tuple[list[Secret], Secret | None]":
    """Every key that can cancel, the bot's own first, and that of reads."""
    from bot.io.secret import SecretFault, set_aside

    set_aside(draft.variables)
    keys: list[Secret] = []
    for place in (venue, venue.standby_key, draft.reaper):
        if place is not None:
            with contextlib.suppress(SecretFault):
                keys.append(key_of(place))
    read_key = None
    if venue.read_key is not None:
        with contextlib.suppress(SecretFault):
            read_key = key_of(venue.read_key)
    return keys, read_key


def _settings(draft: "Draft", series: "Ticker | None", names: frozenset[str]) -> "SweepSettings":
    from bot.core.execution.cancel_all import SweepSettings
    from bot.core.settings import BudgetSettings

    return SweepSettings(
        series_ticker=series,
        known=names,
        deadline_ns=DEADLINE_NS,
        requests_in_flight=draft.file.throttle.requests_in_flight,
        read_lag_ns=draft.file.staleness.read_lag_ms * NS_PER_MS,
        budget=BudgetSettings(**draft.file.budget.model_dump()),
    )


def _swept(
    base_url: str, keys: "list[Secret]", read_key: "Secret | None", settings: "SweepSettings"
) -> "Verdict":
    """The verdict with the first key that the venue does not refuse. Signals that stop are held
    back until then."""
    import structlog

    from bot.core.execution.cancel_all import KeyRefused
    from bot.core.messages import Key
    from bot.io import loop
    from bot.io.client.rest import Rest
    from bot.io.clock import Clock
    from bot.io.logs import SecretRedactor, configure_logs
    from bot.io.run.reaper import sweep
    from bot.io.signals import stopping

    keep_memory_private()
    masker = SecretRedactor()
    for each in (*keys, *([read_key] if read_key is not None else [])):
        masker.learn(each)
    configure_logs(masker)
    log = structlog.stdlib.get_logger("bot")
    log.warning("start_refused", advice="cancelling what earlier runs left, for 15 s at most")

    async def swept() -> "Verdict":
        with stopping(lambda number: log.warning("cancelling_first", signal=number.name)):
            return await swept_with_any()

    async def swept_with_any() -> "Verdict":
        for key in keys:
            others = {Key.READ: read_key} if read_key is not None and key is keys[0] else None
            rest = Rest(
                base_url,
                key,
                settings.requests_in_flight,
                others=others,
                request_s=_REQUEST_S,
                sane_only=False,
            )
            try:
                verdict = await sweep(rest, Clock(), settings)
            finally:
                await rest.drain(0.0)
            if not isinstance(verdict, KeyRefused):
                break
        return verdict

    return loop.run(swept)


def _told(verdict: "Verdict", memory: "RecoveredState") -> tuple[bool, str]:
    """Whether nothing of ours rests, and that in one sentence."""
    from bot.core.execution.cancel_all import Clean, KeyRefused, Overdue

    clock = time.strftime("%H:%M:%S", time.gmtime())
    match verdict:
        case Clean(cancelled=cancelled):
            ended = f" ({cancelled} cancelled)" if cancelled else ""
            return True, f"nothing of ours rests, as a list at {clock} UTC showed{ended}"
        case KeyRefused(status=status, code=code):
            why = f"the venue refuses the key ({status} {code}), so nothing was cancelled"
            return False, f"{why}: {_may_rest(memory)}"
        case Overdue(listed=True, left=left) if left:
            rows = [
                f"{each.order_id} {each.ticker} {each.remaining_qty} ({each.why})" for each in left
            ]
            return False, f"{_count(len(left), 'order')} may rest: {', '.join(rows)}"
        case Overdue(listed=True):
            return False, f"no list has shown in time that nothing rests: {_may_rest(memory)}"
        case _:
            return False, f"the venue could not be read, until {clock} UTC: {_may_rest(memory)}"


def _may_rest(memory: "RecoveredState") -> str:
    """What may rest, by the journal alone."""
    parts = []
    if memory.working:
        ids = ", ".join(order.order_id for order in memory.working)
        parts.append(f"{_count(len(memory.working), 'order')} of the journal may rest: {ids}")
    if memory.open_intents:
        ids = ", ".join(intent.order.client_order_id for intent in memory.open_intents)
        number = _count(len(memory.open_intents), "create")
        parts.append(f"{number} without an answer may have made one: {ids}")
    return "; ".join(parts) or "orders may rest that the journal does not name"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""A start that is refused leaves none of our orders resting.

It cancels the orders that the journal knows as ours and, unless `start.unknown_orders` is `refuse`,
all others in the markets of its series. Two lists prove that nothing is left.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import structlog

from bot.cli.cancel_all import sweep_settings
from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    fail,
    keep_memory_private,
    log_without,
    readable_keys,
)
from bot.config.bot_config import ConfigFault, Draft, ExternalSettings, spared
from bot.core.execution.cancel_all import Clean, KeyRefused, Overdue, SweepSettings, Verdict
from bot.core.messages import JournalFate, Key
from bot.core.settings import Strangers
from bot.io import loop
from bot.io.adapter import AdapterFault, VenueAddress, adapter_named
from bot.io.clock import Clock
from bot.io.faults import OperatorError
from bot.io.journal.journal import left_in
from bot.io.journal.records import JournalFault
from bot.io.journal.recovery import EMBEDDED, RecoveredState, address_kept
from bot.io.run.reaper import sweep
from bot.io.secret import Secret
from bot.io.signals import stopping
from bot.io.state.kill_switch_file import CrashLog
from bot.io.state.locks import AccountFault, AccountLock, StateDirectory, StateFault, held_by_a_bot
from bot.io.state.small_files import Remains, keep_remains
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import fold_ticker

DEADLINE_NS: Final = 10 * NS_PER_SECOND
"""How long cancelling and proving may take."""

CANCEL_ADVICE: Final = "bot cancel-all CONFIG --verify cancels what rests and proves it"

_REQUEST_S: Final = 4.0
"""Timeout of a request: none may hold up the exit for longer."""

_NEEDED: Final = frozenset({"name", "series", "venue", "state", "start"})
"""The sections that must be right to know which orders are ours, and where."""


def clear_up(refusal: Exception, drafts: Sequence[Draft], state_dir: Path | None) -> None:
    """Cancel what earlier runs left. Returns if there is nothing; else it ends the process,
    printing the refusal and what rests: with 4 if orders may rest, else with the refusal's own
    code."""
    left = [
        remains
        for draft in drafts
        if (remains := _withdraw(draft, state_dir, len(drafts) == 1, refusal)) is not None
    ]
    if not left:
        return
    lines = [str(refusal), *(remains.text for remains in left)]
    code = EXIT_CONFIGURATION if isinstance(refusal, ConfigFault) else EXIT_VENUE
    if not all(remains.verified for remains in left):
        code = EXIT_LEFT_OVER
        lines.append(CANCEL_ADVICE)
    fail(code, "\n".join(lines))


def _withdraw(
    draft: Draft, state_dir: Path | None, alone: bool, refusal: Exception
) -> Remains | None:
    """Cancel what earlier runs of a configuration left and store the outcome. None if nothing can
    have been left, if its embedded venue ended with it, or if a running bot manages the orders."""
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
            if not (_order_ids(memory) or memory.damage or CrashLog(folder).has_crashed):
                return None
        except JournalFault:
            memory = RecoveredState(JournalFate.DAMAGED)
        except (StateFault, OSError):
            # What earlier runs left is unknown, unless the folder was never there.
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
    draft: Draft,
    venue: ExternalSettings,
    folder: Path,
    memory: RecoveredState,
    held: ExitStack,
) -> tuple[bool, str, int] | None:
    """Cancel our orders: (True if two lists have shown that none rests, that in words, how many
    were cancelled). None if none can rest, or if another bot has the account and none is known to
    be ours."""
    ids = _order_ids(memory)
    kept = address_kept(folder)
    if kept == EMBEDDED:
        return None  # its venue has ended, and the orders with it
    if kept is not None and kept != venue.base_url:
        return False, f"{_may_rest(memory)} at {kept}", 0
    named = readable_keys(draft, venue)
    read_key = named.pop("read key", None)
    keys = list(named.values())
    if not keys:
        return False, f"no key can be read, so nothing was cancelled: {_may_rest(memory)}", 0
    known_alone = draft.file.start.unknown_orders is Strangers.REFUSE
    why_alone = "start.unknown_orders: refuse"
    try:
        held.callback(AccountLock.acquire(venue.base_url, keys[0], folder).close)
    except AccountFault:
        if not ids:
            return None
        known_alone, why_alone = True, "another bot trades the account"
    except OperatorError:
        pass  # without a lock, orders must still be cancelled
    # The file may name another series than the run that was killed traded.
    series = None if known_alone else fold_ticker(draft.file.series)
    ours = ids if known_alone else ids | _market_ids(memory)
    wanted = sweep_settings(draft, series, DEADLINE_NS, known=ours)
    try:
        verdict = _swept(venue, keys, read_key, wanted)
    except AdapterFault as fault:
        return False, f"{fault}, so nothing was cancelled: {_may_rest(memory)}", 0
    verified, text = _outcome(verdict, memory)
    if known_alone and memory.fate is not JournalFate.FOUND:
        return False, f"the journal cannot show which orders are ours ({why_alone})", 0
    if verified and known_alone and memory.open_intents:
        # A list need not show the client order id of an unanswered create.
        return False, _may_rest(msgspec.structs.replace(memory, working=())), 0
    if verified and known_alone:
        text += f"; other orders in our rungs were left alone ({why_alone})"
    return verified, text, getattr(verdict, "cancelled", 0)


def _order_ids(memory: RecoveredState) -> frozenset[str]:
    found: set[str] = {each.order.client_order_id for each in memory.open_intents}
    for order in memory.working:
        found |= {order.order_id, order.client_order_id}
    return frozenset(found)


def _market_ids(memory: RecoveredState) -> frozenset[str]:
    intents = (each.order.market_id for each in memory.open_intents)
    return frozenset((*intents, *(order.market_id for order in memory.working)))


def _swept(
    venue: ExternalSettings, keys: list[Secret], read_key: Secret | None, settings: SweepSettings
) -> Verdict:
    """The verdict with the first key that the venue accepts. SIGINT and SIGTERM are deferred until
    then. Raises AdapterFault."""
    adapter = adapter_named(venue.adapter)
    keep_memory_private()
    log_without(*keys, *([read_key] if read_key is not None else []))
    log = structlog.stdlib.get_logger("bot")
    log.warning("start_refused", advice="cancelling what earlier runs left, for 15 s at most")

    async def swept() -> Verdict:
        for key in keys:
            others = {Key.READ: read_key} if read_key is not None and key is keys[0] else {}
            client = adapter.order_client(
                VenueAddress(venue.base_url, venue.stream_url, key, others),
                settings.requests_in_flight,
                request_s=_REQUEST_S,
                sane_only=False,
            )
            try:
                reads = Key.READ if others else Key.TRADE
                verdict = await sweep(client, Clock(), settings, reads=reads)
            finally:
                await client.drain(0.0)
            if not isinstance(verdict, KeyRefused):
                break
        return verdict

    async def undisturbed() -> Verdict:
        with stopping(lambda number: log.warning("cancelling_first", signal=number.name)):
            return await swept()

    return loop.run(undisturbed)


def _outcome(verdict: Verdict, memory: RecoveredState) -> tuple[bool, str]:
    """True if no order of ours rests, and that in one sentence."""
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


def _may_rest(memory: RecoveredState) -> str:
    """The orders that may rest, by the journal alone."""
    parts = []
    if memory.working:
        ids = ", ".join(order.order_id for order in memory.working)
        parts.append(f"{_count(len(memory.working), 'order')} of the journal may rest: {ids}")
    if memory.open_intents:
        ids = ", ".join(intent.order.client_order_id for intent in memory.open_intents)
        number = _count(len(memory.open_intents), "create")
        parts.append(f"{number} without an answer may have made one: {ids}")
    return "; ".join(parts) or "orders may rest that the journal does not list"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

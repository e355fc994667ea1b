"""The crowd at work: a plan, its accounts, and the loop that carries commands to the venue."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from venue.crowd.crowd import SeededCrowd, account_commands
from venue.crowd.follower import TAPE_CASH_CENTS, TapeFollower
from venue.crowd.people import TAPE_MAKER, TAPE_TAKER, accounts
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import Tape
from venue.engine.messages import AccessCommand, Answer, Command, Event
from venue.wire.instant import NS_PER_SECOND

BEAT_S: Final = 0.025
"""The loop looks up this often; nothing in the crowd is faster."""

REST_S: Final = 0.25
"""After an order that the venue could not take, the crowd leaves it alone for so long."""


class CrowdPlan(msgspec.Struct, frozen=True):
    """Seeded traders, or a tape to play. catalogue: the opening commands that list the
    markets; others are passed over."""

    settings: CrowdSettings
    catalogue: tuple[Command | AccessCommand, ...]
    tape: Tape | None = None


def opening_commands(plan: CrowdPlan) -> list[Command]:
    if plan.tape is None:
        return account_commands(accounts(plan.settings), plan.settings.cash_per_user_cents)
    return account_commands((TAPE_MAKER, TAPE_TAKER), TAPE_CASH_CENTS)


def make_actor(plan: CrowdPlan) -> SeededCrowd | TapeFollower:
    if plan.tape is None:
        return SeededCrowd(plan.settings, plan.catalogue)
    return TapeFollower(plan.settings, plan.tape, plan.catalogue)


async def run_crowd(
    plan: CrowdPlan,
    submit: Callable[[Command], Awaitable[Answer]],
    now_ns: Callable[[], int],
    observe: Callable[[Callable[[list[Event]], None]], None],
    not_taken: tuple[type[Exception], ...] = (),
    present: Sequence[Event] = (),
) -> None:
    """Trade until cancelled; return early only when a tape has ended. observe: registers a callback
    for every list of visible events. not_taken: what `submit` raises for a command not taken or an
    answer lost. present: the state before the crowd came, where its catalogue is empty."""
    actor = make_actor(plan)
    actor.observe(list(present), now_ns())
    observe(lambda events: actor.observe(events, now_ns()))
    while True:
        for command in actor.step(now_ns()):
            try:
                await submit(command)
            except not_taken:
                # The rest of the batch was decided on a stale state.
                await asyncio.sleep(REST_S)
                break
        due_ns = actor.next_due_ns()
        if due_ns is None and isinstance(actor, TapeFollower):
            return
        wait_s = BEAT_S if due_ns is None else (due_ns - now_ns()) / NS_PER_SECOND
        await asyncio.sleep(max(BEAT_S, min(wait_s, 2 * BEAT_S)))

"""Random histories carried out live beside a state directory, with keys and tokens in between.

As a program: `python -m tests.builders.venue.recovery_histories DIR SEED COUNT` carries a history
out in DIR, and prints the state's hash after every command, as JSON; with `replay DIR` it
prints what the log in DIR replays to, after every command.
"""

import hashlib
import json
import sys
from pathlib import Path

from tests.builders.core.histories import USERS, History
from venue.engine.messages import AddKey, AddToken, RevokeKey
from venue.storage.recovery import RecoveredVenue, fresh, recover, snapshot_of
from venue.storage.statedir import StateDir
from venue.wire.routes import KeyScope, TokenScope


def access_commands(number):
    """A key, a token and a revocation, by number."""
    sha256 = [hashlib.sha256(f"{kind} {number}".encode()).hexdigest() for kind in "kt"]
    before = hashlib.sha256(f"k {number // 2}".encode()).hexdigest()
    user = USERS[number % len(USERS)]
    return [
        AddKey(sha256[0], "lm_key", user if number % 7 else None, (KeyScope.READ, KeyScope.TRADE)),
        AddToken(sha256[1], "app", user, (TokenScope.MARKETS_READ,), 5_000_000 * number),
        RevokeKey(before),
    ]


def carried_out(
    state: StateDir, seed: int, count: int, after=lambda exchange: None
) -> RecoveredVenue:
    """A live exchange after so many commands of a history, all in the log of `state` first."""
    exchange, log = fresh(state.keys.order_id_key), state.log()
    history = History(seed, count)
    for number, command in enumerate(history):
        extra = access_commands(number // 10) if number % 10 == 9 else []
        now_ns = 1_000 * number
        log.append(now_ns, [command, *extra])
        for each in (command, *extra):
            _, events = exchange.apply_command(each, now_ns)
            history.learn(events)
            for event in events:
                exchange.views.apply(event)
            after(exchange)
    log.close()
    return exchange


def full_hash(exchange: RecoveredVenue) -> str:
    """One text for everything: engine, keys, tokens, views, and where in the log it is."""
    rest = hashlib.sha256(snapshot_of(exchange)).hexdigest()
    return f"{exchange.sequence} {exchange.engine.state_hash()} {rest}"


def replayed_hashes(state: StateDir) -> list[str]:
    """What the log replays to, after every command."""
    exchange, hashes = fresh(state.keys.order_id_key), []
    for entry in state.entries(0):
        _, events = exchange.apply_command(entry.command, entry.at_ns)
        for event in events:
            exchange.views.apply(event)
        hashes.append(full_hash(exchange))
    return hashes


def _main(arguments: list[str]) -> None:
    if arguments[0] == "replay":
        with StateDir.open(Path(arguments[1])) as state:
            hashes = [*replayed_hashes(state), full_hash(recover(state))]
    else:
        hashes = []
        with StateDir.open(Path(arguments[0])) as state:
            live = carried_out(
                state,
                int(arguments[1]),
                int(arguments[2]),
                lambda exchange: hashes.append(full_hash(exchange)),
            )
            hashes.append(full_hash(live))
    print(json.dumps(hashes))


if __name__ == "__main__":
    _main(sys.argv[1:])

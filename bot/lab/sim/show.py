"""What a person is shown of a world: its last events, and the command that lives it again."""

import shlex

from bot.lab.sim.odds import SECOND, Odds, draw
from bot.lab.sim.world import START_NS, World


def last_events(world: World) -> str:
    return "\n".join(
        f"{(at_ns - START_NS) / SECOND:12.6f} {sign} {what}" for at_ns, sign, what in world.trace
    )


def replay_command(odds: Odds) -> str:
    drawn = draw(odds.seed, odds.profile)
    words = ["bot", "simulate", "--seed", str(odds.seed)]
    if odds.profile != "swarm":
        words += ["--profile", odds.profile]
    if odds.events:
        words += ["--events", str(odds.events)]
    if odds.without:
        words += ["--without", ",".join(odds.without)]
    if odds.safety_ns != drawn.safety_ns:
        words += ["--until", f"{odds.safety_ns / SECOND:g}s"]
    if odds.rungs != drawn.rungs:
        words += ["--rungs", ",".join(str(count) for count in odds.rungs)]
    if odds.strategy != drawn.strategy:
        words += ["--strategy", shlex.quote(odds.strategy)]
    return " ".join(words)

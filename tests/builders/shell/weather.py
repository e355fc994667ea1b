"""What one seed does to the network, the venue and the machine, as acts beside a run."""

import asyncio
import random

import httpx

from tests.builders.shell.life import Life, Plan, live
from tests.builders.shell.net import Wire
from venue.engine.messages import HaltMarket, ResumeMarket, SetVenueState
from venue.rest import faults
from venue.wire.model import VenueState

COMMAND_FAULTS = faults.COMMAND_FAULTS
WIRE_FAULTS = ("cut_up", "cut_down", "silent", "drip")
EPISODES = ("refusing", "stall", "tear_all", "halt_venue", "halt_market", "operator_pause")


class Weather:
    """Drawn from a seed; `act` blows for as long as the plan says, then all is well again."""

    def __init__(self, seed: int) -> None:
        self._rng = rng = random.Random(f"weather {seed}")
        calm = rng.random() < 0.1
        self._wires = [w for w in WIRE_FAULTS if not calm and rng.random() < 0.4]
        self._commands = [c for c in COMMAND_FAULTS if not calm and rng.random() < 0.3]
        self._episodes = [e for e in EPISODES if not calm and rng.random() < 0.35]
        self._blows = False
        # A venue or a market that was halted is asked about again every five seconds only.
        halted = "halt_venue" in self._episodes or "halt_market" in self._episodes
        self.calm_s = 8.0 if halted else 3.5

    @property
    def drawn(self) -> list[str]:
        return [*self._wires, *map(str, self._commands), *self._episodes]

    async def act(self, life: Life) -> None:
        """Everything drawn, between now and the end of the faulty time."""
        rng, loop = self._rng, life.loop
        self._blows = True
        life.network.dressed = self._dress
        for kind in self._commands:
            share = faults.Share(rng.randint(10_000, 150_000), rng.randrange(2**32))
            life.site.venue.faults.set(faults.FaultRule(kind, share))
        until_s = loop.time() + life.plan.faulty_s
        for name in self._episodes:
            at_s = loop.time() + rng.uniform(0.1, 0.9) * (until_s - loop.time())
            loop.call_at(at_s, self._begin, name, life, until_s)
        await asyncio.sleep(until_s - loop.time())
        self._blows = False
        life.site.venue.faults.clear()
        life.network.refusing = False
        for wire in life.network.wires:
            if wire.silent or wire.drip_s:
                # A silence, or a jam, ends as the machines between do it: with a reset, some time.
                loop.call_later(0.5, wire.tear)
            wire.drip_s, wire.cut_up_at, wire.cut_down_at = 0.0, None, None

    def _dress(self, wire: Wire) -> None:
        if not self._blows or not self._wires or self._rng.random() < 0.5:
            return
        kind = self._rng.choice(self._wires)
        # The first request is some 300 bytes up and 500 down; the later ones are met as well.
        at = int(3_000 ** self._rng.random())
        if kind == "cut_up":
            wire.cut_up_at = at
        elif kind == "cut_down":
            wire.cut_down_at = at
        elif kind == "drip":
            wire.drip_s, wire.drip_bytes = self._rng.choice((0.001, 0.02)), 37
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(self._rng.uniform(0.0, 0.5), self._silence, wire)

    def _silence(self, wire: Wire) -> None:
        wire.silent = self._blows  # once it is calm nobody would end it

    def _begin(self, name: str, life: Life, until_s: float) -> None:
        rng, loop = self._rng, life.loop
        for_s = min(rng.choice((0.05, 0.3, 1.0)), until_s - loop.time())
        if name == "refusing":
            life.network.refusing = True
            loop.call_later(for_s, setattr, life.network, "refusing", False)
        elif name == "stall":
            loop.stall(for_s)
        elif name == "tear_all":
            for wire in life.network.wires:
                wire.tear()
        elif name == "halt_venue":
            state = rng.choice((VenueState.HALTED, VenueState.CANCEL_ONLY))
            self._later(life, for_s, SetVenueState(state), SetVenueState(VenueState.OPEN))
        elif name == "halt_market":
            market = rng.choice(life.site.markets)
            self._later(life, for_s, HaltMarket(market), ResumeMarket(market))
        else:
            life.pause()
            loop.call_later(for_s, life.resume)

    def _later(self, life: Life, for_s: float, first: object, then: object) -> None:
        life.site.operate(first)
        life.loop.call_later(for_s, life.site.operate, then)


TIMEOUTS = httpx.Timeout(connect=0.3, read=0.6, write=0.3, pool=0.3)


def weathered(seed: int, weather: Weather) -> Life:
    """A run of one to three rungs through the weather of a seed."""
    rungs, calm_s = 1 + seed % 3, weather.calm_s
    return live(
        Plan(
            seed=seed, rungs=rungs, faulty_s=2.0, calm_s=calm_s, act=weather.act, timeouts=TIMEOUTS
        )
    )

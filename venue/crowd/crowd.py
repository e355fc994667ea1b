"""The seeded crowd: events in, commands out, no clock, the same for the same seed and inputs. It
knows of its orders only what events say, so a lost command mends itself at the trader's next turn.
"""

import heapq
import statistics
from collections.abc import Iterable
from typing import Final

from venue.crowd.latent import LatentValue, stream
from venue.crowd.market_view import CrowdView, Spot
from venue.crowd.people import accounts, named
from venue.crowd.settings import CrowdSettings
from venue.crowd.traders import (
    CrowdMarket,
    InformedTaker,
    Maker,
    NoiseTaker,
    Publisher,
    Trader,
)
from venue.engine.messages import AccessCommand, AddUser, Command, Deposit, Event
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents
from venue.wire.names import MarketId, ProjectId, UserId

OPENING_NS: Final = NS_PER_SECOND
"""Within this time of a market's opening every maker has quoted on it."""

LATE_NS_MAX: Final = NS_PER_SECOND
"""Acts missed by more than this are left out: a sleep is not followed by a storm."""

VALUE_STEPS_MAX: Final = 1_000
"""Steps of a company's path drawn at once: ten milliseconds of work, four minutes of the path."""

_SWEEP_DELAY_S: Final = (0.05, 0.8)


def account_commands(users: Iterable[UserId], cash_cents: int) -> list[Command]:
    commands: list[Command] = []
    for user in users:
        commands += [AddUser(user), Deposit(user, Cents(cash_cents))]
    return commands


class SeededCrowd:
    """Takers, makers and the implied-value feed as one machine. catalogue: the venue's opening;
    later markets come by events. The first step starts the crowd's clock."""

    def __init__(
        self, settings: CrowdSettings, catalogue: Iterable[Command | AccessCommand]
    ) -> None:
        self._settings = settings
        self._view = CrowdView(accounts(settings), Cents(settings.cash_per_user_cents))
        self._view.open_with(catalogue)
        self._world = CrowdMarket(settings, self._view, {}, 0)
        self._informed: dict[MarketId, InformedTaker] = {}
        self._valued: set[ProjectId] = set()
        self._sweeps = stream(settings.seed, "sweeps")
        self._due: list[tuple[int, int, MarketId | None, Trader, bool]] = []
        self._planned = 0
        self._started = False

    def observe(self, events: list[Event], now_ns: int) -> None:
        """Take in what has become visible. `now_ns` is not older than that of any call before."""
        self._view.observe(events)

    def step(self, now_ns: int) -> list[Command]:
        if not self._started:
            self._started = True
            self._world.start_ns = now_ns
        self._open_markets(now_ns)
        for project_id, latent in self._world.latents.items():
            if latent.advance(now_ns, VALUE_STEPS_MAX):
                self._plan_sweeps(project_id, now_ns)
        commands: list[Command] = []
        while self._due and self._due[0][0] <= now_ns:
            due_ns, _, market_id, trader, once = heapq.heappop(self._due)
            if market_id is not None and market_id not in self._view.spots:
                continue
            if market_id is None or self._view.is_active(market_id):
                commands += trader.act(now_ns)
            gap_ns = None if once else trader.gap_ns()
            if gap_ns is not None:
                late = due_ns + gap_ns < now_ns - LATE_NS_MAX
                self._plan((now_ns if late else due_ns) + gap_ns, market_id, trader)
        return commands

    def next_due_ns(self) -> int | None:
        """When the next trader acts; None before the first step and when nobody is left."""
        return self._due[0][0] if self._due else None

    def _open_markets(self, now_ns: int) -> None:
        fresh = [spot for key, spot in self._view.spots.items() if key not in self._informed]
        for key in [key for key in self._informed if key not in self._view.spots]:
            del self._informed[key]
        for spot in fresh:
            if spot.project_id not in self._world.latents:
                self._open_company(spot.project_id, now_ns)
            elif spot.log_strike is not None and spot.project_id not in self._valued:
                self._world.latents[spot.project_id].move_to(self._middle(spot.project_id))
                self._publish(spot.project_id, now_ns)
            self._open_market(spot, now_ns)

    def _open_company(self, project_id: ProjectId, now_ns: int) -> None:
        spots = self._view.spots_of(project_id)
        has_ladder = any(spot.log_strike is not None for spot in spots)
        log_start = self._middle(project_id) if has_ladder else 0.0
        name = spots[0].market.event_ticker
        self._world.latents[project_id] = LatentValue(self._settings, name, log_start, now_ns)
        if has_ladder:
            # Without a strike there is no unit, and so no value in dollars to tell.
            self._publish(project_id, now_ns)

    def _publish(self, project_id: ProjectId, now_ns: int) -> None:
        name = self._view.spots_of(project_id)[0].market.event_ticker
        self._valued.add(project_id)
        self._plan(now_ns, None, Publisher(self._world, project_id, name))

    def _middle(self, project_id: ProjectId) -> float:
        ladders = [spot for spot in self._view.spots_of(project_id) if spot.log_strike is not None]
        return statistics.median(
            [
                spot.log_strike
                for spot in ladders
                if spot.log_strike is not None
                and spot.market.event_ticker == ladders[0].market.event_ticker
            ]
        )

    def _open_market(self, spot: Spot, now_ns: int) -> None:
        settings, market_id = self._settings, spot.market.market_id
        opening = stream(settings.seed, "opening", spot.market.ticker)
        for user in named("maker", settings.makers):
            first_ns = now_ns + int(opening.random() * OPENING_NS)
            self._plan(first_ns, market_id, Maker(self._world, spot, user))
        noise = NoiseTaker(self._world, spot, named("taker", settings.takers))
        per_minute = settings.noise_takes_per_rung_per_minute
        odds = settings.informed_share / (1 - settings.informed_share)
        users = named("informed", settings.informed)
        knowing = InformedTaker(self._world, spot, users, per_minute * odds)
        self._informed[market_id] = knowing
        for taker in (noise, knowing):
            gap_ns = taker.gap_ns()
            if gap_ns is not None:
                self._plan(now_ns + gap_ns, market_id, taker)

    def _plan_sweeps(self, project_id: ProjectId, now_ns: int) -> None:
        if self._settings.informed_share == 0:
            return
        for market_id, taker in self._informed.items():
            wants = self._sweeps.random() < self._settings.sweep_share
            delay_s = self._sweeps.uniform(*_SWEEP_DELAY_S)
            if wants and self._view.spots[market_id].project_id == project_id:
                self._plan(now_ns + self._world.lag_ns(delay_s), market_id, taker, once=True)

    def _plan(
        self, due_ns: int, market_id: MarketId | None, trader: Trader, *, once: bool = False
    ) -> None:
        """once: one act besides the trader's own, as after a jump."""
        self._planned += 1
        heapq.heappush(self._due, (due_ns, self._planned, market_id, trader, once))

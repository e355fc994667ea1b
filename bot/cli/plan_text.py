"""What `bot plan` says, for a person: the requests first, then every rung and why it is as it
is.
"""

from typing import TYPE_CHECKING

from bot.cli.explain_text import sizes_text
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND

if TYPE_CHECKING:
    from bot.core.preview import EventPlan, PlannedAction, RungPlan, TraderPlan
    from bot.io.run.dryrun import DryPlan


def dry_text(dry: "DryPlan") -> str:
    """The plan of a bot that began now."""
    lines = ["a dry run: nothing was sent"]
    if dry.first:
        lines.append(f"before anything is quoted, {len(dry.first)} requests:")
        lines += [f"  {each.kind} {each.order}: {each.why}" for each in dry.first]
    return "\n".join([*lines, plan_text(dry.plan)])


def plan_text(plan: "TraderPlan") -> str:
    """What would be sent, in the order in which it would leave, and then every rung."""
    lines = [
        f"{plan.series_ticker}  {plan.phase}  {plan.tokens} tokens, {plan.reserve} kept for "
        f"cancels, {plan.in_flight} requests under way"
    ]
    if plan.withheld:
        lines.append(f"nothing new leaves: {plan.withheld}")
    if plan.flattening:
        lines.append(f"only what shrinks positions is wanted: {plan.flattening}")
    requests = plan.requests
    wished = any(rung.takes for event in plan.events for rung in event.rungs)
    none = "no request waits: takes were wished for" if wished else "no request: all is as wanted"
    lines.append(f"{len(requests)} requests:" if requests else none)
    for rung, each in requests:
        left = plan.tokens - each.turn
        lines.append(f"  {each.turn}. {_intention(each, rung.ticker)}; {left} tokens left")
    for event in plan.events:
        lines += ["", *_event(event, plan.now_ns)]
    return "\n".join(lines)


def _event(event: "EventPlan", now_ns: int) -> list[str]:
    pulled = f": not asked, {event.pulled}" if event.pulled else ""
    used = ", ".join(f"{each.name} {each.used} of {each.limit}" for each in event.limits)
    lines = [f"{event.event_ticker}  {event.strategy}{pulled}", f"  limits: {used}"]
    for rung in event.rungs:
        lines += _rung(rung, now_ns)
    return lines


def _rung(rung: "RungPlan", now_ns: int) -> list[str]:
    wanted = ", ".join(f"{each.side.value} {each.price} x {each.qty}" for each in rung.wanted)
    lines = [
        f"  {rung.ticker}: wants {wanted or ('nothing to rest' if rung.takes else 'nothing')}",
        f"    frame {_frame(rung, now_ns)}",
        f"    curve {_curve(rung)}",
    ]
    if rung.blocked:
        lines.append(f"    cannot be quoted: {rung.blocked}")
    if rung.takes:
        takes = ", ".join(f"{each.side.value} {each.price} x {each.qty}" for each in rung.takes)
        lines.append(
            f"    wished to take {takes} when it was asked last: that leaves then or never"
        )
    for cut in rung.cuts:
        lines.append(
            f"    limit {cut.side.value} {cut.price} cut from {cut.wanted} to {cut.allowed} by "
            f"{cut.reason.value}"
        )
    lines += [f"    {_intention(each)}" for each in rung.intentions]
    return lines


def _frame(rung: "RungPlan", now_ns: int) -> str:
    if rung.frame_ns is None:
        return "none yet"
    age_s = (now_ns - rung.confirmed_ns) / NS_PER_SECOND
    return (
        f"bids {sizes_text(rung.bids)} / asks {sizes_text(rung.asks)} of "
        f"{instant.from_ns(rung.frame_ns)}, confirmed {age_s:.2f} s ago"
    )


def _curve(rung: "RungPlan") -> str:
    if rung.fair_cents is None or rung.fair_sd_cents is None:
        return "no fair value"
    text = f"fair {rung.fair_cents:.2f} cents, variance {rung.fair_sd_cents**2:.3f}"
    if rung.lean_cents is None:
        return f"{text}; skew not known, net {rung.net_qty:+d} held"
    middle = rung.fair_cents + rung.lean_cents
    return (
        f"{text}; skew {rung.lean_cents:+.2f}: quotes around {middle:.1f}, net {rung.net_qty:+d} "
        "held"
    )


def _intention(each: "PlannedAction", ticker: str = "") -> str:
    """One line of what is to become of an order. ticker: said where it is not plain."""
    moved = ""
    if each.from_price is not None and (each.from_price, each.from_qty) != (each.price, each.qty):
        moved = f" (now {each.from_price} x {each.from_qty})"
    order = each.order_id or each.client_order_id
    named = f" {order}" if order else ""
    where = f" on {ticker}" if ticker else ""
    text = f"{each.act.value}{named} {each.side.value} {each.price} x {each.qty}{moved}{where}"
    text = f"{text}: {each.why}"
    if each.turn:
        text += f", worth {each.value_cents:.3f} cents"
    if each.room is not None:
        text += f", {each.room.limit} leaves {each.room.qty}"
    return f"{text}; held back: {each.held_back}" if each.held_back else text

"""The text of `bot plan`: the requests first, then every market and the reason for its state."""

from bot.cli.explain_text import sizes_text
from bot.core.preview import EventPlan, PlannedAction, RungPlan, TraderPlan
from bot.io.run.dryrun import DryPlan
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND


def dry_text(dry: DryPlan) -> str:
    lines = ["a dry run: nothing was sent"]
    if dry.first:
        lines.append(f"before it quotes, {len(dry.first)} requests:")
        lines += [f"  {each.kind} {each.order}: {each.why}" for each in dry.first]
    return "\n".join([*lines, plan_text(dry.plan)])


def plan_text(plan: TraderPlan) -> str:
    """The requests in the order in which they would leave, then every market."""
    lines = [
        f"{plan.series_ticker}  {plan.phase}  {plan.tokens} tokens, {plan.reserve} kept for "
        f"cancels, {plan.in_flight} requests in flight"
    ]
    if plan.withheld:
        lines.append(f"nothing new leaves: {plan.withheld}")
    lines += [each.text() for each in plan.restrictions]
    requests = plan.requests
    has_takes = any(rung.takes for event in plan.events for rung in event.rungs)
    none = (
        "no request waits: only takes were wanted" if has_takes else "no request: all is on target"
    )
    lines.append(f"{len(requests)} requests:" if requests else none)
    for rung, each in requests:
        left = plan.tokens - each.turn
        lines.append(f"  {each.turn}. {_action_text(each, rung.ticker)}; {left} tokens left")
    for event in plan.events:
        lines += ["", *_event(event, plan.now_ns)]
    return "\n".join(lines)


def _event(event: EventPlan, now_ns: int) -> list[str]:
    pulled = f": not asked, {event.pulled}" if event.pulled else ""
    used = ", ".join(f"{each.name} {each.used} of {each.limit}" for each in event.limits)
    lines = [f"{event.event_ticker}  {event.strategy}{pulled}", f"  limits: {used}"]
    for rung in event.rungs:
        lines += _rung(rung, event.strategy, now_ns)
    return lines


def _rung(rung: RungPlan, strategy: str, now_ns: int) -> list[str]:
    by = "" if rung.quoted_by == strategy else f" (by {rung.quoted_by})"
    wanted = ", ".join(f"{each.side.value} {each.price} x {each.qty}" for each in rung.wanted)
    lines = [
        f"  {rung.ticker}{by}: wants {wanted or ('nothing to rest' if rung.takes else 'nothing')}",
        f"    frame {_frame(rung, now_ns)}",
        f"    curve {_curve(rung)}",
    ]
    if rung.blocked:
        lines.append(f"    cannot be quoted: {rung.blocked}")
    if rung.takes:
        takes = ", ".join(f"{each.side.value} {each.price} x {each.qty}" for each in rung.takes)
        lines.append(
            f"    wanted to take {takes} in its last answer: a take leaves at once or not at all"
        )
    for cut in rung.cuts:
        lines.append(
            f"    limit {cut.side.value} {cut.price} trimmed from {cut.wanted} to {cut.allowed} by "
            f"{cut.reason.value}"
        )
    lines += [f"    {_action_text(each)}" for each in rung.intentions]
    return lines


def _frame(rung: RungPlan, now_ns: int) -> str:
    if rung.frame_ns is None:
        return "none yet"
    age_s = (now_ns - rung.confirmed_ns) / NS_PER_SECOND
    return (
        f"bids {sizes_text(rung.bids)} / asks {sizes_text(rung.asks)} of "
        f"{instant.from_ns(rung.frame_ns)}, confirmed {age_s:.2f} s ago"
    )


def _curve(rung: RungPlan) -> str:
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


def _action_text(each: PlannedAction, ticker: str = "") -> str:
    """A line about one order. ticker: printed if the line is not under its market."""
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

"""The text of `bot explain`: an order, and a decision with a line for each step."""

from collections.abc import Iterable

from bot.lab.explain import Choice, Curve, Decision, Limits, Token
from bot.lab.order_histories import Frame, OrderHistory, OrderRequest
from bot.strategy.api import Levels, Quote, Take
from venue.wire import instant
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

_LEVELS = 3
_LABEL = 10


def row_text(life: OrderHistory, ticker: str) -> str:
    named = life.client_order_id or "-"
    venue = life.order_ids[-1] if life.order_ids else "-"
    state = life.shown or "no answer"
    if life.resting_ns is not None:
        state += f" when last seen, {instant.second_of(life.resting_ns)}"
    return (
        f"{named:<26} {venue:<20} {ticker} {life.side.value} {life.price} x {life.qty}, "
        f"{len(life.deeds)} requests, {life.filled} filled, {state}"
    )


def life_text(life: OrderHistory) -> str:
    ids = ", ".join(life.order_ids) or "none shown"
    route = f"{life.own_side.value} {life.outcome.value}"
    lines = [
        f"order {life.client_order_id or '(not by us)'}, the venue's id {ids}",
        f"  {life.side.value} {life.price} x {life.qty} by {route}, {life.filled} filled",
    ]
    for nonce in life.inherited:
        lines.append(f"  adopted at the start of run {nonce}, left by an earlier one")
    for deed in life.deeds:
        lines.append(f"  {_deed(deed)}")
        if deed.frame is not None and not deed.run:
            lines.append(f"    on {_frame_text(deed.frame)}")
    return "\n".join(lines)


def _frame_text(frame: Frame) -> str:
    return (
        f"{_book(frame.bids, frame.asks)}; {frame.kind} of {instant.from_ns(frame.ts_ns)}; "
        f"{frame.place.segment} entry {frame.place.entry}"
    )


def _deed(deed: OrderRequest) -> str:
    again = " again" if deed.again else ""
    took = ""
    if deed.answered_ns is not None:
        took = f" after {(deed.answered_ns - deed.at_ns) / NS_PER_MS:.1f} ms"
    answer = deed.answer or "no answer"
    return f"{_clock(deed.at_ns)} {deed.kind}{again}: {deed.why} -> {answer}{took}"


def decision_text(
    decision: Decision, deed: OrderRequest | None = None, life: OrderHistory | None = None
) -> str:
    """The steps from frame to token; without a request, only those that a market alone has."""
    what = decision.ticker if deed is None else f"{deed.kind} on {decision.ticker}"
    place = decision.place
    lines = [
        f"{what}: {instant.from_ns(decision.at_ns)}, event {decision.number} of the run, "
        f"{place.segment} entry {place.entry}, {decision.phase}"
    ]
    parts = [
        ("frame", _frame(decision)),
        ("belief", _belief(decision)),
        ("curve", _curve(decision.curve)),
        ("state", "; ".join(decision.restricted)),
        ("strategy", _strategy(decision)),
        ("skew", _skew(decision, deed, life)),
        ("limit", _limit(decision, decision.limits)),
        ("steady", _steady(decision)),
        ("reconcile", _choice(decision.choice)),
        ("token", _token(decision.token)),
    ]
    lines += [f"  {label:<{_LABEL}}{text}" for label, text in parts if text]
    return "\n".join(lines)


def _frame(decision: Decision) -> str:
    frame = decision.frame
    if frame is None:
        return "no book of this market had arrived"
    ago_ms = (decision.decided_ns - frame.at_ns) / NS_PER_MS
    return (
        f"{_book(frame.bids, frame.asks)}; {frame.kind} of {instant.from_ns(frame.ts_ns)}, arrived "
        f"{ago_ms:.1f} ms before the decision; {frame.place.segment} entry {frame.place.entry}"
    )


def _belief(decision: Decision) -> str:
    seen = decision.seen
    late_ms = (decision.at_ns - decision.decided_ns) / NS_PER_MS
    when = f"decided {late_ms:.1f} ms before" if late_ms else "decided at that moment"
    if seen is None:
        return when
    return (
        f"{when}; without our own {_book(seen.bids, seen.asks)}; confirmed {seen.book_age_s:.2f} s "
        f"ago; held YES {seen.yes_qty}, NO {seen.no_qty}, net {seen.event_net_qty} in the event"
    )


def _curve(curve: Curve | None) -> str:
    if curve is None:
        return "no fair value"
    line = "" if curve.line_cents is None else f", line {curve.line_cents:.2f}"
    drawn = "" if curve.drawn_cents is None else f", shrunk to its own data {curve.drawn_cents:.2f}"
    return (
        f"fair {curve.value_cents:.2f} cents, variance {curve.variance:.3f} (sd "
        f"{curve.sd_cents:.3f}){line}{drawn}; volatility {curve.volatility_cents:.3f} a root second"
    )


def _strategy(decision: Decision) -> str:
    if not decision.asked:
        why = f": {decision.pulled}" if decision.pulled else ""
        return f"{decision.strategy} was not asked{why}"
    takes = [f"to take {each}" for each in map(_one, decision.takes)]
    wanted = ", ".join([*map(_one, decision.answered), *takes]) or "nothing here"
    return f"{decision.strategy} wanted {wanted}"


def _skew(decision: Decision, deed: OrderRequest | None, life: OrderHistory | None) -> str:
    if not decision.asked:
        return ""
    if decision.leans_fault:
        return f"not known: {decision.leans_fault}"
    rows = list(decision.leans)
    if life is not None and deed is not None:
        price = life.price if deed.price is None else deed.price
        mine = [lean for lean in rows if lean.side is life.side]
        rows = [lean for lean in mine if lean.price == price] or mine
    if not rows:
        return "no quote, with or without the inventory"
    return "; ".join(
        f"{lean.side.value} {_at(lean.price, lean.qty)}, holding nothing "
        f"{_at(lean.free_price, lean.free_qty)}"
        + ("" if lean.cents is None else f": {lean.cents:+d} cents")
        for lean in rows
    )


def _at(price: int | None, qty: int) -> str:
    return "none" if price is None else f"{price} x {qty}"


def _limit(decision: Decision, limits: Limits | None) -> str:
    cut = "; ".join(
        f"{each.side.value} {each.price} trimmed from {each.wanted} to {each.allowed} by "
        f"{each.reason.value}"
        for each in decision.cuts
    )
    parts = [cut or "no quote of the market was trimmed"]
    if limits is not None and limits.rooms:
        least = limits.rooms[0]
        if limits.wished_qty is not None and limits.sent_qty is not None:
            if limits.sent_qty < limits.wished_qty:
                parts.append(f"{limits.sent_qty} of {limits.wished_qty} sent")
            else:
                parts.append(f"all {limits.sent_qty} sent")
        elif taken := _taken(decision):
            parts.append(f"{limits.sent_qty} sent of a take of {taken.qty}")
        parts.append(f"{least.limit} leaves room for {least.qty}, the other limits for more")
        parts.append(", ".join(f"{each.name} {each.used} of {each.limit}" for each in limits.used))
    return "; ".join(parts)


def _taken(decision: Decision) -> Take | None:
    """The take that the request executes, or a part of it; a side has one at most."""
    choice = decision.choice
    if choice is None or choice.kind != "take":
        return None
    words = choice.why.split()[1:3]
    return next((e for e in decision.takes if [e.side.value, str(e.price)] == words), None)


def _steady(decision: Decision) -> str:
    if decision.wanted == decision.steady:
        return ""
    return f"wanted {_quotes(decision.wanted)}, held back to {_quotes(decision.steady)}"


def _choice(choice: Choice | None) -> str:
    if choice is None:
        return ""
    text = choice.why
    if choice.kind == "none":
        text = f"{text}; not by the plan of quotes"
    elif choice.kind == "take":
        text = f"{text}; a take of the strategy, not of the plan of quotes"
    else:
        text = f"{choice.kind}: {text}, worth {choice.value_cents:.3f} cents"
    if choice.keeps_priority is not None:
        text += ", keeps its queue place" if choice.keeps_priority else ", loses its queue place"
    if choice.place_cents is not None:
        worth = f"worth {choice.place_cents:.3f}"
        text += f", queue place {worth}" if choice.keeps_priority is None else f" ({worth})"
    others = ", ".join(
        f"{each.price} x {each.qty} {each.state}" + (f" ({each.wish})" if each.wish else "")
        for each in choice.beside
    )
    return f"{text}; also on that side {others}" if others else f"{text}; alone on that side"


def _token(token: Token | None) -> str:
    if token is None:
        return ""
    there = "" if token.before is None else f"{token.before} in the bucket, "
    return (
        f"{there}{token.reserve} kept for cancels; lane {token.lane} of the {token.key} key, "
        f"request {token.nth} of {token.of} of that decision; {token.in_flight} in flight, "
        f"{token.resting} may rest, flat within {token.flat_ns / NS_PER_SECOND:.2f} s"
    )


def _book(bids: Levels, asks: Levels) -> str:
    return f"bids {sizes_text(bids)} / asks {sizes_text(asks)}"


def sizes_text(levels: Levels) -> str:
    return " ".join(f"{price} x {size}" for price, size in levels[:_LEVELS]) or "none"


def _quotes(quotes: Iterable[Quote]) -> str:
    return ", ".join(map(_one, quotes)) or "nothing here"


def _one(quote: Quote | Take) -> str:
    return f"{quote.side.value} {quote.price} x {quote.qty}"


def _clock(ns: int) -> str:
    """The time of day, to the millisecond, UTC."""
    return instant.from_ns(ns)[11:23]

"""Handlers of how the venue runs: status, state hash, venue state, lag, faults."""

import importlib.metadata
from typing import Final

from venue.admin import bodies, replies
from venue.admin.bodies import BadRequest, as_body, bad, millionths_of
from venue.admin.desk import OperatorRequest
from venue.engine.messages import SetVenueState
from venue.rest.faults import (
    KINDS,
    SHARE_SCALE,
    CommandFault,
    CommandRule,
    DelayFault,
    DelayRule,
    FaultInForce,
    LimitRule,
    Outage,
    OutageRule,
    PaceFault,
    Rule,
    Share,
    ThrottleRule,
    Times,
)
from venue.wire.instant import from_ns

_VERSION: Final = importlib.metadata.version("laddermaker")
_SHARE_DIGITS: Final = len(str(SHARE_SCALE)) - 1


async def status(call: OperatorRequest) -> replies.VenueStatus:
    """GET status."""
    operator = call.operator
    return replies.VenueStatus(
        version=_VERSION,
        venue_state=operator.venue_state,
        sequence=operator.sequence,
        at=from_ns(operator.now_ns()),
        durable=operator.durable,
        writable=operator.writable,
        queue=operator.queue,
        projection_lag_ms=operator.projection_lag_ms,
        subscribers=operator.subscribers,
        users=len(operator.views.account.users()),
        markets=operator.views.catalog.market_count,
        crowd=operator.has_crowd,
        faults=tuple([standing.rule.kind.value for standing in operator.faults.standing()]),
    )


async def state_hash(call: OperatorRequest) -> replies.StateHash:
    """GET state-hash."""
    return replies.StateHash(*await call.operator.state_hash())


async def set_venue_state(call: OperatorRequest) -> replies.VenueStateReply:
    """PUT venue-state."""
    body = as_body(bodies.VenueStateBody, call.fields)
    await call.submit(SetVenueState(body.state))
    return replies.VenueStateReply(body.state)


async def set_projection(call: OperatorRequest) -> replies.ProjectionReply:
    """PUT projection."""
    body = as_body(bodies.ProjectionBody, call.fields)
    call.operator.set_projection_lag_ms(body.lag_ms)
    return replies.ProjectionReply(body.lag_ms)


# --- faults --------------------------------------------------------------------------------------


async def list_faults(call: OperatorRequest) -> replies.FaultsReply:
    """GET faults."""
    standing = call.operator.faults.standing()
    return replies.FaultsReply(tuple([_shown(each) for each in standing]))


async def add_fault(call: OperatorRequest) -> replies.FaultReply:
    """POST faults: a rule, instead of the one of its kind if there is one."""
    rule = _rule(call.fields)
    faults = call.operator.faults
    faults.set(rule)
    return next(_shown(each) for each in faults.standing() if each.rule is rule)


async def clear_faults(call: OperatorRequest) -> replies.FaultsReply:
    """DELETE faults."""
    call.operator.faults.clear()
    return await list_faults(call)


async def clear_fault(call: OperatorRequest) -> replies.FaultsReply:
    """DELETE faults/{kind}."""
    kind = KINDS.get(call.segment)
    if kind is None:
        raise bad("kind", call.segment, ", ".join(KINDS))
    call.operator.faults.clear(kind)
    return await list_faults(call)


def _rule(fields: dict[str, object]) -> Rule:
    name = fields.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    match kind:
        case CommandFault():
            body = as_body(bodies.CommandFaultBody, fields)
            when = _when(body)
            if when is None:
                raise BadRequest("count, share: missing; accepted is exactly one of them")
            if not body.verbs:
                raise bad("verbs", [], "a list of create, amend, cancel with one at least")
            return CommandRule(kind, when, body.verbs)
        case DelayFault():
            late = as_body(bodies.DelayFaultBody, fields)
            return DelayRule(late.delay_ms, late.on, _when(late))
        case Outage():
            as_body(bodies.OutageFaultBody, fields)
            return OutageRule(kind)
        case PaceFault.RATE_LIMITED:
            throttle = as_body(bodies.ThrottleFaultBody, fields)
            return ThrottleRule(throttle.retry_after_s, _when(throttle) or Times(1))
        case PaceFault.RATE_LIMIT_LOWERED:
            return LimitRule(as_body(bodies.LimitFaultBody, fields).limit)
        case None:
            if "kind" not in fields:
                raise BadRequest(f"kind: missing; accepted is {', '.join(KINDS)}")
            raise bad("kind", name, ", ".join(KINDS))


def _when(
    body: bodies.CommandFaultBody | bodies.DelayFaultBody | bodies.ThrottleFaultBody,
) -> Times | Share | None:
    if body.count is not None and body.share is not None:
        raise bad("share", body.share, "count or share, not both")
    if body.count is not None:
        return Times(body.count)
    return None if body.share is None else Share(millionths_of(body.share), body.seed)


def _shown(standing: FaultInForce) -> replies.FaultReply:
    rule = standing.rule
    when = None if isinstance(rule, OutageRule | LimitRule) else rule.when
    share = when if isinstance(when, Share) else None
    return replies.FaultReply(
        kind=rule.kind.value,
        struck=standing.struck,
        count=standing.left,
        share=None if share is None else _share_text(share.millionths),
        seed=None if share is None else share.seed,
        verbs=tuple([v.value for v in rule.verbs]) if isinstance(rule, CommandRule) else None,
        delay_ms=rule.delay_ms if isinstance(rule, DelayRule) else None,
        on=rule.on.value if isinstance(rule, DelayRule) else None,
        retry_after_s=rule.retry_after_s if isinstance(rule, ThrottleRule) else None,
        limit=rule.limit if isinstance(rule, LimitRule) else None,
    )


def _share_text(millionths: int) -> str:
    whole, fraction = divmod(millionths, SHARE_SCALE)
    return f"{whole}.{fraction:0{_SHARE_DIGITS}d}".rstrip("0").rstrip(".")

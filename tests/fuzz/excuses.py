"""Rules of the interface that OpenAPI has no word for, as judges of one request and its answer.

A refusal of schema-valid data, or an acceptance of schema-invalid data, is excused only when the
request shows the rule; everything else stays a failure.
"""

import datetime
import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from schemathesis import Case, Response

from tests.fuzz.site import Site

_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_BODY_BYTES_MAX = 16 * 1024
_BODY_DEPTH_MAX = 8
_QTY_MAX = 1_000_000


def refusal(site: Site, response: Response, filled_qty: Callable[[str], int]) -> str | None:
    """The rule beyond its schema that a refused request breaks, or None.

    filled_qty: reads how much of an order, named by its address, has traded.
    """
    query, sent = _query(response), response.request.body or b""
    rules: dict[str, dict[str, Callable[[], bool]]] = {
        # Only the service can make one; the empty one stands for the first page.
        "invalid_cursor": {"a made-up cursor": lambda: bool(query.get("cursor"))},
        "conflicting_identifiers": {
            "two filters of one kind": lambda: {"ticker", "event_ticker"} <= query.keys()
        },
        "invalid_parameter": {
            "a window that ends before it begins": lambda: _ends_before_it_begins(query),
            "a filter that names nothing": lambda: _names_nothing(site, query),
        },
        "invalid_qty": {
            # The ceiling holds for what has traded and what remains together (S25).
            "more than the ceiling with what has traded": lambda: (
                response.request.method == "PUT"
                and filled_qty(str(response.request.url)) + _qty(sent) > _QTY_MAX
            )
        },
        "invalid_request_body": {
            "an integer written with a point": lambda: _has_a_point(sent),
            "a body beyond size or depth": lambda: _is_monstrous(sent),
        },
    }
    code = json.loads(response.content).get("code")
    return next((name for name, shows in rules.get(code, {}).items() if shows()), None)


def acceptance(case: Case, response: Response) -> str | None:
    """Why an accepted request may depart from its schema as it does, or None."""
    negated = _negated(case)
    if case.operation.label == "GET /events/{event_ticker}" and negated <= {"limit", "cursor"}:
        return "a page of one event, where both are ignored"
    limit = _query(response).get("limit", "")
    if negated == {"limit"} and _INTEGER.fullmatch(limit) is not None:
        return "a limit that is clamped"
    return None


def _query(response: Response) -> dict[str, str]:
    pairs = parse_qs(urlsplit(str(response.request.url)).query, keep_blank_values=True)
    return {name: values[0] for name, values in pairs.items()}


def _negated(case: Case) -> set[str]:
    assert case.meta is not None
    data = case.meta.phase.data
    named = {mutation.parameter for mutation in getattr(data, "mutations", ())}
    parameter = getattr(data, "parameter", None)
    return {name for name in (named or {parameter}) if name is not None}


def _ends_before_it_begins(query: Mapping[str, str]) -> bool:
    now = datetime.datetime.now(datetime.UTC)
    begin, end = query.get("from"), query.get("to")
    if begin is None:
        # A candle window without a beginning begins a day ago.
        return end is not None and _instant(end) < now - datetime.timedelta(hours=23)
    return (now if end is None else _instant(end)) <= _instant(begin)


def _instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace(" ", "+"))


def _names_nothing(site: Site, query: Mapping[str, str]) -> bool:
    market, event = query.get("ticker"), query.get("event_ticker")
    return (market is not None and market.upper() not in site.markets) or (
        event is not None and event.upper() not in site.events
    )


def _qty(body: bytes | str) -> int:
    qty: int | None = json.loads(body).get("qty")
    return qty or 0


def _has_a_point(body: bytes | str) -> bool:
    """JSON Schema takes 1.0 for an integer, the interface does not (S26)."""
    fields = json.loads(body)
    return any(isinstance(fields.get(name), float) for name in ("price", "qty", "budget_cents"))


def _is_monstrous(body: bytes | str) -> bool:
    raw = body.encode() if isinstance(body, str) else body
    return len(raw) > _BODY_BYTES_MAX or _depth(json.loads(raw)) > _BODY_DEPTH_MAX


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_nest = isinstance(value, dict | list)
    return is_nest + max((_depth(each) for each in inner), default=0)

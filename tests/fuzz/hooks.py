"""What schemathesis is told of this interface: keys by turns, its rules, and the checks beyond it.

Loaded into the schemathesis process by name. Where the interface overrules a check of the tool,
its own rule is checked here instead. A surprising answer is let pass only when the request itself
shows the rule that OpenAPI cannot say.
"""

import atexit
import collections
import hashlib
import itertools
import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import schemathesis
import yaml
from schemathesis import AuthContext, Case, CheckContext, HookContext, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.generation.meta import CoverageScenario, StatefulPhaseData, coverage_scenario
from schemathesis.openapi.checks import RejectedPositiveData

from tests.fuzz import SITE_VARIABLE, excuses
from tests.fuzz.site import Site

SITE = msgspec.json.decode(Path(os.environ[SITE_VARIABLE]).read_bytes(), type=Site)
_RAW = SITE.keys()
_HTTP = httpx.Client(trust_env=False, timeout=10)
_DOCUMENT = yaml.safe_load(_HTTP.get(f"{SITE.base_url}/openapi.yaml").content)
_KEY = "X-API-KEY"
_BURST = "500"
_INTEGERS = ("price", "qty", "budget_cents")
_TURNS = itertools.cycle(
    [(_KEY, _RAW[name]) for name in _RAW if re.fullmatch(r"fuzz-[0-9]", name)]
    + [("Authorization", f"Bearer {_RAW['token']}")]
)


@schemathesis.auth(refresh_interval=None)
class CredentialsByTurns:
    """One user's nine keys and a token: the limiter of one alone would answer 429 and hide all."""

    def get(self, case: Case, context: AuthContext) -> tuple[str, str]:
        return next(_TURNS)

    def set(self, case: Case, data: tuple[str, str], context: AuthContext) -> None:
        name, value = data
        case.headers = {**(case.headers or {}), name: value}


@schemathesis.hook
def map_case(context: HookContext, case: Case) -> Case:
    """Lead most requests that fit the schema past the rules that it cannot say.

    One in eight stays as it was made. What is changed depends on the request alone, so the
    same request is the same again, and the same order a re-send.
    """
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return case
    made = json.dumps([case.query, case.body], sort_keys=True, default=str)
    digest = hashlib.sha256(made.encode()).hexdigest()
    by_link = isinstance(meta.phase.data, StatefulPhaseData)
    if isinstance(case.query, dict) and not by_link and digest[0] not in "01":
        case.query = _possible(case.query)
    if isinstance(case.body, dict):
        case.body = _written_plainly(case.body) if digest[11] not in "01" else case.body
        if isinstance(case.body.get("client_order_id"), str):
            case.body = _order(case.body, digest)
    return case


def _written_plainly(body: dict[str, Any]) -> dict[str, Any]:
    """The body with 40 for 40.0, which JSON Schema takes for an integer and the interface not."""
    plain = {name: int(body[name]) for name in _INTEGERS if isinstance(body.get(name), float)}
    return {**body, **plain}


def _order(body: dict[str, Any], digest: str) -> dict[str, Any]:
    """The order with a key of its own and, mostly, on a market that there is.

    The tool puts names that it has seen into bodies, and so may name the market twice.
    """
    key = body["client_order_id"][:47] + digest[:16]
    named = {name: body.get(name) for name in ("ticker", "market_id")}
    if None not in named.values():
        named["ticker" if digest[10] in "01234567" else "market_id"] = None
    for name, known in (("ticker", SITE.markets), ("market_id", SITE.market_ids)):
        if named[name] is not None and digest[1] not in "01":
            named[name] = known[int(digest[2:10], 16) % len(known)]
    return {**body, **named, "client_order_id": key}


def _possible(query: dict[str, Any]) -> dict[str, Any]:
    """The query with one filter instead of two, from the beginning, of a window that has time."""
    left_out = {"cursor"} | ({"event_ticker"} if "ticker" in query else set())
    kept = {name: value for name, value in query.items() if name not in left_out}
    if "from" in kept and "to" in kept:
        kept["from"], kept["to"] = sorted((kept["from"], kept["to"]))
    return kept


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case, response: Response) -> bool:
    """Keep a failure unless the request shows the rule that excuses it."""
    excuse = None
    if isinstance(failure, RejectedPositiveData):
        excuse = excuses.refusal(SITE, response, _filled_qty)
    elif isinstance(failure, AcceptedNegativeData):
        excuse = excuses.acceptance(case, response)
    if excuse is not None:
        _EXCUSED[excuse] += 1
    return excuse is None


def _filled_qty(address: str) -> int:
    filled: int = _HTTP.get(address, headers=dict([next(_TURNS)])).json()["filled_qty"]
    return filled


_ANSWERS: collections.Counter[tuple[str, str]] = collections.Counter()
_EXCUSED: collections.Counter[str] = collections.Counter()


@schemathesis.hook
def after_call(context: HookContext, case: Case, response: Response) -> None:
    """Count what was answered, to be told at the end: a fuzz that meets only 400 proves little."""
    code = "" if response.status_code < 400 else f" {_code(response)}"
    _ANSWERS[case.operation.label, f"{response.status_code}{code}"] += 1


@atexit.register
def _tell() -> None:
    for (label, answer), count in sorted(_ANSWERS.items()):
        print(f"{count:7} {label}: {answer}")
    for excuse, count in sorted(_EXCUSED.items()):
        print(f"{count:7} excused: {excuse}")


def _code(response: Response) -> str:
    try:
        return str(json.loads(response.content)["code"])
    except (ValueError, LookupError, TypeError):
        return "without a code"


def _body(response: Response) -> Any:
    return json.loads(response.content)


@schemathesis.check
def limiter_headers(ctx: CheckContext, response: Response, case: Case) -> None:
    """Every answer to a request whose credential is good tells what is left; no other does."""
    shown = {name: values[0] for name, values in response.headers.items()}
    code = _body(response)["code"] if response.status_code >= 400 else ""
    of_limiter = {"x-ratelimit-limit", "x-ratelimit-remaining"} & shown.keys()
    if code in ("unauthenticated", "conflicting_credentials") or case.path == "/openapi.yaml":
        assert not of_limiter, f"limiter headers on {code or 'the description'}"
        return
    assert shown.get("x-ratelimit-limit") == _BURST
    assert 0 <= int(shown["x-ratelimit-remaining"]) <= int(_BURST)
    throttled = {"retry-after", "x-ratelimit-reset"} & shown.keys()
    assert len(throttled) == (2 if response.status_code == 429 else 0)


@schemathesis.check
def nothing_is_throttled(ctx: CheckContext, response: Response, case: Case) -> None:
    """A 429 here means that the fuzz itself is too fast and sees nothing behind the limiter."""
    assert response.status_code != 429, "slow down or spread the requests over more keys"


@schemathesis.check
def failures_have_the_error_shape(ctx: CheckContext, response: Response, case: Case) -> None:
    """Whatever was asked, with whatever method: JSON with code and error, maybe details."""
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == ["application/json"]
    body = _body(response)
    assert {"code", "error"} <= body.keys() <= {"code", "error", "details"}
    assert all(isinstance(text, str) for text in body.values())


@schemathesis.check
def a_failure_has_a_documented_code(ctx: CheckContext, response: Response, case: Case) -> None:
    """The schema of a failure leaves its code open; the examples of the response list the codes."""
    if response.status_code < 400 or response.status_code == 404:
        return  # 404 is also the answer to an unknown method
    answers = _DOCUMENT["paths"][case.operation.path][case.operation.method.lower()]["responses"]
    answer = answers[str(response.status_code)]
    if "$ref" in answer:
        answer = _DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    assert _code(response) in answer["content"]["application/json"]["examples"]


@schemathesis.check
def an_unknown_method_is_not_found(ctx: CheckContext, response: Response, case: Case) -> None:
    """404 market_not_found where other services say 405 (S49)."""
    if coverage_scenario(case) is CoverageScenario.UNSPECIFIED_HTTP_METHOD:
        assert response.status_code == 404
        if response.request.method != "HEAD":
            assert _body(response)["code"] == "market_not_found"


@schemathesis.check
def an_order_is_its_owners_secret(ctx: CheckContext, response: Response, case: Case) -> None:
    """What one user reads by id does not exist for another."""
    if case.operation.label == "GET /orders/{order_id}" and response.status_code == 200:
        other = _HTTP.get(str(response.request.url), headers={_KEY: _RAW["maker"]})
        assert other.status_code == 404, other.text
        assert other.json()["code"] == "order_not_found"


_CLOSED_TO_READERS: set[str] = set()


@schemathesis.check
def a_write_needs_the_scope(ctx: CheckContext, response: Response, case: Case) -> None:
    """A key that may read cannot write, however good the request is; looked at once a route."""
    label = case.operation.label
    if case.method == "GET" or response.status_code >= 300 or label in _CLOSED_TO_READERS:
        return
    request = response.request
    reader = _HTTP.request(
        str(request.method),
        str(request.url),
        content=request.body or b"",
        headers={_KEY: _RAW["fuzz-read"]},
    )
    assert reader.status_code == 403, reader.text
    assert reader.json()["code"] == "forbidden_scope"
    _CLOSED_TO_READERS.add(label)

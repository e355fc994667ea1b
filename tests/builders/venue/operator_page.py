"""Makes docs/operator-api.md: every request of the operator's interface, its body and its command.

Run: python -m tests.builders.venue.operator_page > docs/operator-api.md
"""

import sys
from collections.abc import Iterator
from itertools import groupby

import msgspec

from venue.admin import bodies
from venue.admin.app import PREFIX
from venue.admin.handlers import ENDPOINTS, FAULT_BODIES, Endpoint
from venue.cli import operator
from venue.derived import NAME_ACCEPTED
from venue.rest.faults import FaultKind

INTRODUCTION = f"""\
# The operator's interface over HTTP

What the `venue` commands of a running venue send, for programs. `make pages` makes this page. How
to open the interface: [operations.md](operations.md#the-operators-interface-of-the-venue).

```
curl http://127.0.0.1:8091{PREFIX}/status \\
    -H "Authorization: Bearer $(cat state/venue-control-token)"
```

Bodies and replies are JSON. A reply of 200 is what the command prints with `--json`. A body has at
most 16 KiB, that of `listings` 1 MiB; an unknown or repeated field is refused. `GET /healthz`,
`/readyz` and `/metrics`, without the prefix, need no token.

| status | code | meaning |
|---|---|---|
| 400 | `invalid_request` | a value is not accepted; the text names it and what is |
| 401 | `unauthenticated` | no valid token |
| 403 | `forbidden_host` | the Host header names another machine |
| 404 | `not_found` | no such path, method, company, event, market, user or key |
| 409 | `refused` | the engine refused it and nothing changed; `details` has the interface's code |
| 503 | `unavailable` | with `details` `result_unknown` it may have been done, else nothing was |
| 500 | `internal_error` | a bug; the venue's log has it |

Each request has {PREFIX}/ before its path. A `text` has {NAME_ACCEPTED}.
"""

LISTINGS = """
`listings` takes the bodies of `POST companies`, `POST events` and `POST markets` as lists, and
adds them in this order. A malformed entry is found before anything is listed. A later refusal names
the entry; what came before it stays, and the whole may be sent again.
"""


def fields(kind: type[msgspec.Struct], *left_out: str) -> Iterator[str]:
    """A body's fields as rows: name, accepted values, default."""
    for field in msgspec.structs.fields(kind):
        if field.name in left_out:
            continue
        accepted, note = bodies.accepted_values(field.type).replace(NAME_ACCEPTED, "text"), ""
        if field.default is None:
            accepted, note = accepted.removesuffix(" or null"), " (optional)"
        elif not field.required:
            note = f" (default {msgspec.json.encode(field.default).decode()})"
        yield f"`{field.name}`{note}: {accepted}"


def row(endpoint: Endpoint) -> str:
    words = operator.ENDPOINTS.get((endpoint.method, endpoint.path), "fault clear")
    query = f"?{'&'.join(endpoint.query)}=" if endpoint.query else ""
    if endpoint.body is None:
        taken = "see below"
    else:
        taken = "<br>".join(fields(endpoint.body)).replace("|", "\\|")
    return f"| `{endpoint.method} {endpoint.path}{query}` | {taken} | `venue {words}` |"


def fault_rows() -> Iterator[str]:
    """The fields of each kind of fault; kinds that have the same ones share a row."""
    kinds = sorted(FaultKind, key=lambda kind: body_of(kind).__name__)
    for kind, those in groupby(kinds, key=body_of):
        names = ", ".join(f"`{each}`" for each in those)
        yield f"| {names} | {'<br>'.join(fields(kind, 'kind'))} |"


def body_of(kind: FaultKind) -> type[msgspec.Struct]:
    return FAULT_BODIES.get(kind, bodies.CommandFaultBody)


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION, "| request | body | command |", "|---|---|---|"]
    lines += [row(each) for each in ENDPOINTS]
    lines += [LISTINGS, "`POST faults` takes `kind` and:", "", "| kind | fields |", "|---|---|"]
    lines += fault_rows()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())

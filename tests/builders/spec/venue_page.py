"""Makes docs/venue.md: every statement of the interface and what proves it.

Run: python -m tests.builders.spec.venue_page > docs/venue.md
"""

import re
import sys
from itertools import groupby

from venue.conformance.judge import CODES, UNPROVOKED
from venue.conformance.runner import suite

HEADINGS = (
    "What the service does",
    "Global conventions",
    "Ticker structure",
    "Market",
    "Orderbook",
    "MarketTrade (one print on the public tape)",
    "MarketStats",
    "Position",
    "Order",
    "Event",
    "Candle and candle series",
    "Balance",
    "Fill",
    "Snapshot",
    "Error body",
    "Order status",
    "Market state",
    "Event status",
    "Venue state",
    "Endpoints",
    "GET /openapi.yaml",
    "GET /markets",
    "GET /markets/{market_id}/snapshot",
    "GET /markets/{market_id}/orderbook",
    "GET /markets/{market_id}/candles",
    "GET /events",
    "GET /events/{event_ticker}",
    "POST /orders",
    "GET /orders",
    "GET /orders/{order_id}",
    "PUT /orders/{order_id}",
    "DELETE /orders/{order_id}",
    "GET /portfolio/balance",
    "GET /portfolio/positions and GET /portfolio/fills",
    "Authentication",
    "Events",
    "Client frame: subscribe",
    "Target types",
    "Server error frame",
    "Handle rules",
    "Errors",
    "result_unknown handling",
    "Limits",
    "Versioning",
)
"""The headings of the interface that state something, in its order."""

# What the outside cannot see, or what binds clients: (heading, words, test, reading).
ELSEWHERE = (
    (
        "Authentication",
        "Stored of a raw key: hash and short prefix",
        "tests/slow/venue/test_server_access.py::test_an_added_key_is_found_by_its_hash_with_its_scopes",
        "",
    ),
    (
        "Authentication",
        "No reply, log line or list ever holds a raw key",
        "tests/slow/venue/test_http_app.py::test_replies_and_log_lines_never_show_the_key",
        "",
    ),
    (
        "Global conventions",
        "A cursor outlives a restart; it is bound to user, route and filters",
        "tests/slow/venue/test_read_cursor.py::test_a_cursor_survives_a_restart_with_the_same_key",
        "S37",
    ),
    (
        "MarketTrade (one print on the public tape)",
        "created_at orders prints, also those of one order and one instant",
        "tests/slow/venue/test_recovery_replay.py"
        "::test_every_print_has_an_instant_of_its_own_and_its_fills_have_the_same",
        "",
    ),
    (
        "GET /markets/{market_id}/candles",
        "Candles of every length equal the prints, over days",
        "tests/slow/venue/test_read_market.py"
        "::test_candles_of_every_length_equal_those_computed_from_the_prints",
        "",
    ),
    (
        "Order",
        "order_id survives a restart",
        "tests/slow/venue/test_recovery_replay.py::test_order_ids_are_the_same_after_a_restart",
        "S15",
    ),
    (
        "Handle rules",
        "A reused symbol resolves to its new company after the refresh",
        "tests/slow/venue/test_read_catalog.py"
        "::test_a_symbol_that_was_given_up_resolves_to_its_new_company",
        "",
    ),
    (
        "Handle rules",
        "A renamed company keeps its old symbol until the refresh",
        "tests/slow/venue/test_read_catalog.py"
        "::test_a_renamed_company_keeps_its_old_symbol_until_the_refresh",
        "",
    ),
    (
        "Errors",
        "result_unknown after the timeout: the command may still execute",
        "tests/slow/venue/test_server_desk.py"
        "::test_a_command_without_an_answer_in_time_is_lost_not_rejected",
        "",
    ),
    (
        "Errors",
        "Several faults: the order of refusals, every combination",
        "tests/fast/core/test_core_precedence.py",
        "S29",
    ),
    (
        "Errors",
        "Clients treat an unrecognised code by its status class",
        "tests/fast/wire/test_wire_errors.py"
        "::test_an_unrecognised_code_is_a_generic_failure_of_its_status_class",
        "",
    ),
    (
        "result_unknown handling",
        "Clients never retry with a new client_order_id, nor take it for a rejection",
        "tests/fast/bot/test_bot_order_creates.py"
        "::test_a_create_with_unknown_outcome_stays_open_when_its_resend_is_rejected",
        "",
    ),
    (
        "result_unknown handling",
        "Clients read an order before amending again",
        "tests/fast/bot/test_bot_order_writes.py"
        "::test_an_order_whose_amend_timed_out_is_read_back_and_the_amend_not_resent",
        "",
    ),
    (
        "Order",
        "Clients read an unrecognised stored value as unknown",
        "tests/fast/wire/test_wire_model.py::test_an_unrecognised_enum_value_reads_as_unknown",
        "",
    ),
    (
        "Limits",
        "Any t seconds pass at most 500 + 250 t requests",
        "tests/fast/wire/test_wire_limits.py"
        "::test_any_window_of_t_seconds_passes_at_most_burst_plus_rate_x_t_requests",
        "",
    ),
)

# What no test can prove: (heading, words, why).
UNPROVEN = (
    ("What the service does", "Paper money; fee rates are scaled down", "a fact of the operator"),
    ("Ticker structure", "Clients never construct a series ticker", "a duty of clients"),
    ("Ticker structure", "Splitting a market ticker is not guaranteed", "a caution to clients"),
    ("Order status", "Transitions out of accepted", "left open; this venue never shows accepted"),
    ("Authentication", "How a bearer token is obtained", "left open; the operator mints them"),
    ("Authentication", "Keys are created in the account web app", "the operator's, not the API"),
    ("Errors", "Never retry 400 and 422 unchanged", "a duty of clients"),
    ("Versioning", "Staging: same paths at another host, keys per environment", "a deployment"),
    ("Versioning", "Cursors are not persisted across versions", "a duty of clients"),
    ("Versioning", "New codes may be added within a version; texts may change", "of the future"),
)

INTRODUCTION = """\
# What the venue keeps of its interface, and what proves it

Every statement of the interface once, in our words. In brackets: its proof, a check of `venue
check` or a test, and the readings that it rests on ([assumptions.md](assumptions.md)). `make pages`
makes this page. The command judges any venue in raw JSON; `--no-readings` leaves out what rests on
them:

```
venue check --url http://127.0.0.1:8080/v1 --control http://127.0.0.1:8091
```

A client begins with [client-quickstart.md](client-quickstart.md). `GET /v1/openapi.yaml` describes
every path, query, body and response, [asyncapi.yaml](asyncapi.yaml) every frame of the channel,
[security.md](security.md#the-venue) the limits of connections, headers and bodies.

## Every statement
"""


def rows() -> list[tuple[str, str, str, str]]:
    """(statement, heading, proved by, readings), in the order of the interface."""
    found: dict[tuple[str, str], tuple[list[str], dict[str, None]]] = {}
    for each in suite():
        for statement in each.statements:
            key = (statement.heading, statement.words)
            proofs, readings = found.setdefault(key, ([], {}))
            proofs.append(f"`{each.name}`")
            readings.update(dict.fromkeys(each.readings))
    for heading, words, test, reading in ELSEWHERE:
        found[heading, words] = ([f"`{test}`"], dict.fromkeys(filter(None, [reading])))
    unprovoked = [
        ("Errors", f"{status} {code}", "all refusals here have other codes")
        for status, codes in CODES.items()
        for code in sorted(codes & UNPROVOKED)
    ]
    for heading, words, why in (*UNPROVEN, *unprovoked):
        found[heading, words] = ([f"nothing: {why}"], {})
    made = [
        (words, heading, ", ".join(proofs), " ".join(readings))
        for (heading, words), (proofs, readings) in found.items()
    ]
    return sorted(made, key=lambda row: HEADINGS.index(row[1]))


def anchor(heading: str) -> str:
    """A target of links such as `put-orders-order-id`; empty if the heading itself makes it."""
    name = re.sub(r"[^a-z0-9]+", "-", heading.partition(" (")[0].lower()).strip("-")
    own = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return "" if name == own else f'<a id="{name}"></a>'


def page() -> str:
    """The whole page."""
    table = rows()
    lines = [INTRODUCTION, f"{len(table)} statements, {len(suite())} checks."]
    for heading, those in groupby(table, key=lambda row: row[1]):
        lines += ["", f"### {heading}", ""]
        proved: dict[str, list[str]] = {}
        for words, _, proof, readings in those:
            by = f"{proof}, {readings}" if readings else proof
            proved.setdefault(by, []).append(words.replace("<", "&lt;"))
        items = [f"{'<br>'.join(statements)} ({by})" for by, statements in proved.items()]
        items[0] = anchor(heading) + items[0]
        lines += [f"- {each}" for each in items]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())

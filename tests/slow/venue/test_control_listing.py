"""Claims about what the operator lists and whom the operator lets in, over real sockets."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.builders.venue.control_bench import (
    TICKER,
    ask,
    done,
    event,
    market,
    plain_client,
    refused,
    served,
)
from tests.builders.venue.small_venue import MARKET
from venue import derived
from venue.wire.instant import to_ns

# --- what is traded ------------------------------------------------------------------------------


def test_traders_read_what_the_operator_listed(control, rest):
    company = done(control, "POST", "companies", {"name": "Osier Labs", "symbol": "OSIER"})
    assert company == {
        "project_id": derived.company_id("Osier Labs"), "name": "Osier Labs", "symbol": "OSIER",
    }  # fmt: skip
    listed = done(control, "POST", "events", event("osier", "OSIER-VAL", sub_title="At the close"))
    assert listed["event_ticker"] == "OSIER-VAL-26Q4"
    assert listed["resolution_date"] == "2026-12-31T23:59:59.000000000Z"
    assert listed["project_market_id"] == derived.event_id("OSIER-VAL-26Q4")
    strike = {"strike_value": "2.5", "strike_unit": "USD billions", "description": "In dollars."}
    rung = done(control, "POST", "markets", market("OSIER-VAL-26Q4", "2.5B", **strike))
    assert rung == {
        "market_id": derived.market_id("OSIER-VAL-26Q4-2.5B"), "ticker": "OSIER-VAL-26Q4-2.5B",
        "event_ticker": "OSIER-VAL-26Q4", "name": "Osier Labs above 2.5B, Q4 2026",
        "outcome_label": "above 2.5B", "maker_fee_rate": "0.0100", "taker_fee_rate": "0.0175",
        **strike,
    }  # fmt: skip
    shown = rest.get("/events/OSIER-VAL-26Q4").json()["events"][0]
    assert {name: shown[name] for name in listed} == listed
    assert {name: shown["markets"][0][name] for name in rung} == rung


def test_the_operator_may_give_every_derived_field(control):
    ids = [f"00000000-0000-4000-8000-00000000{number:04d}" for number in (81, 82, 83)]
    named = {"name": "Given", "symbol": "GIVEN", "project_id": ids[0]}
    assert done(control, "POST", "companies", named)["project_id"] == ids[0]
    given = event(
        ids[0], "GIVEN-IPO", status="unopened", mutually_exclusive=True,
        resolution_date="2026-12-24T12:00:00Z", resolution_source="The register",
        project_market_id=ids[1].upper(),
    )  # fmt: skip
    listed = done(control, "POST", "events", given)
    assert (listed["status"], listed["mutually_exclusive"]) == ("unopened", True)
    assert listed["resolution_date"] == "2026-12-24T12:00:00.000000000Z"
    assert listed["project_market_id"] == ids[1]
    texts = {"name": "Will it?", "outcome_label": "It will", "market_id": ids[2]}
    rung = done(control, "POST", "markets", market("GIVEN-IPO-26Q4", "YES", **texts))
    assert {name: rung[name] for name in texts} == texts


def test_a_binary_market_is_named_like_its_event(control):
    done(control, "POST", "companies", {"name": "Twofold", "symbol": "TWOFOLD"})
    done(control, "POST", "events", event("TWOFOLD", "TWOFOLD-IPO"))
    rung = done(control, "POST", "markets", market("TWOFOLD-IPO-26Q4", "YES"))
    assert (rung["ticker"], rung["name"]) == ("TWOFOLD-IPO-26Q4-YES", "What it is worth")
    assert rung["outcome_label"] == "Yes"


@pytest.mark.parametrize(
    ("date", "is_accepted"),
    [
        ("2026-09-30T23:59:59.999999999Z", False),
        ("2026-10-01T00:00:00Z", True),
        ("2027-01-01T01:59:59.999999999+02:00", True),
        ("2027-01-01T00:00:00Z", False),
    ],
)
def test_an_event_resolves_within_the_quarter_that_names_it(control, date, is_accepted):
    body = event("LINDEN", f"DATED-{date[:4]}", resolution_date=date)
    if is_accepted:
        listed = done(control, "POST", "events", body)
        assert to_ns(listed["resolution_date"]) == to_ns(date)
    else:
        why = f"resolution_date: {date}; accepted is an instant of Q4 2026, UTC"
        assert refused(control, "POST", "events", body) == (400, "invalid_request", why)


def test_a_market_without_a_strike_takes_the_number_of_its_label(control):
    done(control, "POST", "events", event("LINDEN", "NUMBERED-VAL"))
    body = market("NUMBERED-VAL-26Q4", "212.5B", strike_value=None)
    assert done(control, "POST", "markets", body)["strike_value"] == "212.5"


@pytest.mark.parametrize("lag_ms", [0, 60_000])
def test_a_market_without_a_unit_takes_the_unit_of_its_event(lag_ms):
    with served() as house, house.client() as control:
        done(control, "PUT", "projection", {"lag_ms": lag_ms})
        done(control, "POST", "events", event("LINDEN", "MEASURED"))
        first = market("MEASURED-26Q4", "2B", strike_unit="USD billions")
        assert done(control, "POST", "markets", first)["strike_unit"] == "USD billions"
        second = market("MEASURED-26Q4", "3B")
        listed = done(control, "POST", "markets", second)
        assert (listed["strike_value"], listed["strike_unit"]) == ("3", "USD billions")
        twice = market("MEASURED-26Q4", "XB", strike_value="2.0")
        assert "MEASURED-26Q4-2B has it" in refused(control, "POST", "markets", twice)[2]
        third = market("MEASURED-26Q4", "500M", strike_unit="USD millions")
        done(control, "POST", "markets", third)
        assert "strike_unit" not in done(control, "POST", "markets", market("MEASURED-26Q4", "4B"))
        assert done(control, "POST", "markets", second) == listed


@pytest.mark.parametrize(("label", "strike"), [("HIGH", None), ("YES", "5")])
def test_a_market_of_a_ladder_needs_a_strike_and_a_binary_market_none(control, label, strike):
    done(control, "POST", "events", event("LINDEN", "STRUCK-VAL"))
    body = market("STRUCK-VAL-26Q4", label, strike_value=strike)
    status, code, why = refused(control, "POST", "markets", body)
    assert (status, code) == (400, "invalid_request")
    assert why == (
        "strike_value: every rung has one, given or the number that its label begins with; "
        "the binary market, labelled YES, none"
    )


@pytest.mark.parametrize("lag_ms", [0, 60_000])
def test_a_ladder_has_one_market_for_each_strike(lag_ms):
    with served() as house, house.client() as control:
        done(control, "PUT", "projection", {"lag_ms": lag_ms})
        done(control, "POST", "events", event("LINDEN", "TWICE"))
        first = market("TWICE-26Q4", "2.5B", strike_value=None)
        listed = done(control, "POST", "markets", first)
        assert (listed["ticker"], listed["strike_value"]) == ("TWICE-26Q4-2.5B", "2.5")
        second = market("TWICE-26Q4", "XB", strike_value="2.50")
        assert refused(control, "POST", "markets", second) == (
            400,
            "invalid_request",
            'strike_value: "2.50"; accepted is one that no other rung of the event has; '
            "TWICE-26Q4-2.5B has it",
        )
        other = market("TWICE-26Q4", "2.5M", strike_value=None, strike_unit="USD millions")
        assert done(control, "POST", "markets", other)["strike_value"] == "2.5"
        assert done(control, "POST", "markets", first) == listed


def test_of_two_concurrent_markets_of_one_strike_one_is_listed(house):
    with house.client() as one, house.client() as other, ThreadPoolExecutor(2) as both:
        for number in range(20):
            done(one, "POST", "events", event("LINDEN", f"AT-ONCE-{number}"))
            wanted = [market(f"AT-ONCE-{number}-26Q4", label) for label in ("AB", "BB")]
            bodies = [{**body, "strike_value": "2.5"} for body in wanted]
            asked = [
                both.submit(client.post, "/control/v1/markets", json=body)
                for client, body in zip((one, other), bodies, strict=True)
            ]
            assert sorted(each.result().status_code for each in asked) == [200, 400]


def test_repeated_commands_have_the_same_reply(control):
    done(control, "POST", "companies", {"name": "Again", "symbol": "AGAIN"})
    for body, path in [
        ({"name": "Again", "symbol": "AGAIN"}, "companies"),
        (event("AGAIN", "AGAIN-VAL"), "events"),
        (market("AGAIN-VAL-26Q4", "1B"), "markets"),
        ({"user_id": "again"}, "users"),
        (None, "markets/AGAIN-VAL-26Q4-1B/halt"),
        (None, "markets/AGAIN-VAL-26Q4-1B/resume"),
        ({"winner": "no"}, "markets/AGAIN-VAL-26Q4-1B/resolve"),
        (None, "companies/AGAIN/archive"),
    ]:
        assert done(control, "POST", path, body) == done(control, "POST", path, body)


@pytest.mark.parametrize(
    "other", [{"symbol": "OTHER"}, {"name": "Other"}, {"name": "Other", "symbol": "OTHER"}]
)
def test_adding_a_company_again_changes_neither_its_name_nor_its_symbol(control, other):
    kept = {"name": "Kept", "symbol": "KEPT"}
    named = {**kept, "project_id": done(control, "POST", "companies", kept)["project_id"]}
    status, code, why = refused(control, "POST", "companies", {**named, **other})
    assert (status, code) == (409, "refused")
    assert why.startswith("the company is there already, as 'Kept' with the symbol KEPT; ")
    assert done(control, "POST", "companies", kept)["symbol"] == "KEPT"
    shown = [row["name"] for row in done(control, "GET", "companies")["companies"]]
    assert "Kept" in shown and "Other" not in shown


def test_a_company_changes_its_symbol_and_is_archived(control):
    made = done(control, "POST", "companies", {"name": "Mutable", "symbol": "MUTE"})
    renamed = done(control, "POST", "companies/mute/symbol", {"symbol": "LOUD"})
    assert renamed == {**made, "symbol": "LOUD"}
    assert refused(control, "POST", "companies/MUTE/archive")[:2] == (404, "not_found")
    archived = done(control, "POST", f"companies/{made['project_id'].upper()}/archive")
    assert archived == {**renamed, "archived": True}
    assert archived in done(control, "GET", "companies")["companies"]
    listed = {"name": archived["name"], "symbol": archived["symbol"]}
    assert done(control, "POST", "companies", listed) == archived
    same = {"symbol": archived["symbol"]}
    path = f"companies/{made['project_id']}/symbol"
    assert done(control, "POST", path, same) == archived
    assert refused(control, "POST", "companies/LOUD/symbol", {"symbol": "HUSH"})[0] == 409


@pytest.mark.parametrize("lag_ms", [0, 60_000])
def test_an_archived_symbol_names_the_company_that_took_it(lag_ms):
    with served() as house, house.client() as control:
        done(control, "PUT", "projection", {"lag_ms": lag_ms})
        gone = done(control, "POST", "companies", {"name": "Gone", "symbol": "SHARED"})
        archived = done(control, "POST", "companies/SHARED/archive")
        assert archived == {**gone, "archived": True}
        came = done(control, "POST", "companies", {"name": "Came", "symbol": "SHARED"})
        assert archived in done(control, "GET", "companies")["companies"]
        value = {"value_dollars": "5", "confidence": "1"}
        valued = done(control, "POST", "companies/SHARED/implied-value", value)
        listed = done(control, "POST", "events", event("SHARED", "SHARED-VAL"))
        assert valued["project_id"] == listed["project_id"] == came["project_id"]


def test_an_event_is_closed_and_reopened(control, rest):
    for status in ("closed", "open"):
        reply = done(control, "PUT", "events/linden-26q4/status", {"status": status})
        assert reply == {"event_ticker": "LINDEN-26Q4", "status": status}
        assert rest.get("/events/LINDEN-26Q4").json()["events"][0]["status"] == status


def test_an_event_with_a_resolved_market_stays_closed_until_it_is_settled():
    with served() as house, house.client() as control:
        done(control, "POST", "markets", market("LINDEN-26Q4", "2B"))
        again = market("LINDEN-26Q4", "2B", maker_fee_rate="0.5")
        assert "the ticker is taken" in ask(control, "POST", "markets", again).json()["error"]
        done(control, "POST", f"markets/{TICKER}/resolve", {"winner": "yes"})
        for status in ("unopened", "open"):
            assert "stays closed until all have" in rejection_of_status(control, status)
        done(control, "POST", "markets/LINDEN-26Q4-2B/resolve", {"winner": "yes"})
        for status in ("unopened", "open", "closed"):
            why = rejection_of_status(control, status)
            assert "is settled" in why
            assert "closed" not in why


def rejection_of_status(control, status):
    """Why the operator's change of an event's status is refused."""
    reply = ask(control, "PUT", "events/LINDEN-26Q4/status", {"status": status})
    assert (reply.status_code, reply.json()["details"]) == (409, "invalid_request")
    text: str = reply.json()["error"]
    return text


def test_a_market_is_halted_resumed_and_resolved():
    with served() as house, house.client() as control, house.rest() as rest:

        def state():
            return rest.get("/events/LINDEN-26Q4").json()["events"][0]["markets"][0]["state"]

        assert done(control, "POST", f"markets/{TICKER.lower()}/halt")["state"] == "halted"
        assert state() == "halted"
        assert done(control, "POST", f"markets/{MARKET}/resume")["state"] == "active"
        assert state() == "active"
        resolved = done(control, "POST", f"markets/{TICKER}/resolve", {"winner": "yes"})
        assert resolved == {"market_id": MARKET, "state": "resolved", "winner": "yes"}
        assert state() == "resolved"
        for path, body, code in (
            ("resolve", {"winner": "no"}, "invalid_request"),
            ("halt", None, "market_resolved"),
        ):
            reply = ask(control, "POST", f"markets/{TICKER}/{path}", body)
            assert (reply.status_code, reply.json()["details"]) == (409, code)


@pytest.mark.parametrize(
    ("path", "body", "status", "code", "why"),
    [
        ("companies", {"name": "Twin", "symbol": "LINDEN"}, 409, "invalid_request", ""),
        ("events", event("LINDEN", "LINDEN", title="Another"), 409, "invalid_request", ""),
        ("markets", market("LINDEN-26Q4", "1B"), 409, "invalid_request", ""),
        ("markets", market("LINDEN-26Q4", "7B", market_id=MARKET), 409, "invalid_request",
         "the market_id is taken"),
        ("users/anna/withdrawals", {"amount_cents": 10**15}, 409, "insufficient_balance",
         "more than the available cash"),
        *[
            (path, body, 404, None, "")
            for path, body in (
                ("companies/NOBODY/archive", None), (f"companies/{MARKET}/archive", None),
                ("markets/LINDEN-26Q4/halt", None), ("markets/%20/halt", None),
                ("events", event("NOBODY", "NOBODY-VAL")), ("markets", market("NO", "1B")),
                ("users/nobody/deposits", {"amount_cents": 1}),
                ("users/nobody/withdrawals", {"amount_cents": 1}),
                ("keys", {"user_id": "nobody", "scopes": []}),
                ("keys/0123456789abcdef/revoke", None),
            )
        ],
    ],
)  # fmt: skip
def test_a_rejected_command_changes_nothing_and_has_its_code(
    control, path, body, status, code, why
):
    before = done(control, "GET", "state-hash")["state_hash"]
    reply = ask(control, "POST", path, body)
    assert reply.status_code == status
    assert reply.json()["code"] == ("refused" if status == 409 else "not_found")
    assert code is None or reply.json()["details"] == code
    assert why in reply.json()["error"]
    assert done(control, "GET", "state-hash")["state_hash"] == before


# --- in bulk -------------------------------------------------------------------------------------


def ladder(symbol, *labels):
    """A company with one event of these rungs, as one body."""
    series = f"{symbol}-VAL"
    return {
        "companies": [{"name": f"{symbol} Works", "symbol": symbol}],
        "events": [event(symbol, series)],
        "markets": [market(f"{series}-26Q4", label) for label in labels],
    }


def test_a_whole_ladder_is_listed_by_one_request(control, rest):
    labels = [f"{number}B" for number in range(1, 201)]
    listed = done(control, "POST", "listings", ladder("BULK", *labels))
    assert [len(listed[name]) for name in ("companies", "events", "markets")] == [1, 1, 200]
    (shown,) = rest.get("/events/BULK-VAL-26Q4").json()["events"]
    assert [each["market_id"] for each in shown["markets"]] == [
        each["market_id"] for each in listed["markets"]
    ]


def test_a_list_sent_again_changes_nothing_and_adds_what_is_new(control):
    first = done(control, "POST", "listings", ladder("RESENT", "1B", "2B"))
    assert done(control, "POST", "listings", ladder("RESENT", "1B", "2B")) == first
    more = done(control, "POST", "listings", ladder("RESENT", "1B", "2B", "3B"))
    assert more["markets"][:2] == first["markets"]
    assert [each["ticker"] for each in more["markets"][2:]] == ["RESENT-VAL-26Q4-3B"]


def test_a_malformed_entry_of_a_list_is_named_and_nothing_is_listed(control):
    before = done(control, "GET", "state-hash")["state_hash"]
    body = ladder("WRONG", "1B", "x!")
    assert refused(control, "POST", "listings", body)[2].startswith('markets[1].label: "x!"; ')
    body = ladder("WRONG", "1B") | {"events": [{"company": "WRONG"}]}
    assert "events[0].series_ticker: missing" in refused(control, "POST", "listings", body)[2]
    assert (
        "companies: 5; accepted is a list"
        in refused(control, "POST", "listings", {"companies": 5})[2]
    )
    assert done(control, "GET", "state-hash")["state_hash"] == before


def test_a_refused_entry_of_a_list_is_named_with_what_was_listed_before_it(control, rest):
    for labels, status, why in (
        (("1B", "1.0B", "2B"), 400, 'markets[1]: strike_value: "1.0"'),
        (("1B", "YES", "2B"), 409, "markets[1]: "),
    ):
        symbol = f"PART{status}"
        code, _, error = refused(control, "POST", "listings", ladder(symbol, *labels))
        assert code == status
        assert error.startswith(why)
        assert error.endswith("(3 listed before it)")
        (shown,) = rest.get(f"/events/{symbol}-VAL-26Q4").json()["events"]
        assert [each["ticker"] for each in shown["markets"]] == [f"{symbol}-VAL-26Q4-1B"]
    assert refused(control, "POST", "listings", {"events": [event("NOBODY", "NO")]})[0] == 404


def test_only_a_list_may_be_longer_than_16_kib(control):
    body = ladder("LONG") | {"markets": [market("LONG-VAL-26Q4", "x!")] * 400}
    assert refused(control, "POST", "listings", body)[2].startswith("markets[0].label")
    name = {"name": "x" * 20_000, "symbol": "LONG"}
    assert "longer than 16384 bytes" in refused(control, "POST", "companies", name)[2]


# --- who may trade -------------------------------------------------------------------------------


def test_a_new_key_works_until_it_is_revoked(control, house):
    done(control, "POST", "users", {"user_id": "carla"})
    made = done(control, "POST", "keys", {"user_id": "carla", "scopes": ["read", "read"]})
    assert made["scopes"] == ["read"]
    assert made["key"].startswith(made["prefix"])
    assert hashlib.sha256(made["key"].encode()).hexdigest().startswith(made["key_id"])
    with house.rest(made["key"]) as rest:
        assert rest.get("/portfolio/balance").status_code == 200
        known = {name: made[name] for name in ("key_id", "prefix", "user_id", "scopes")}
        listed = done(control, "GET", "keys?user_id=carla")["keys"]
        assert listed == [{**known, "revoked": False}]
        assert listed[0] in done(control, "GET", "keys")["keys"]
        gone = done(control, "POST", f"keys/{made['key_id']}/revoke")
        assert gone == {**known, "revoked": True}
        assert rest.get("/portfolio/balance").status_code == 401
    assert done(control, "POST", f"keys/{made['key_id']}/revoke") == gone


def test_a_new_token_works_for_its_scopes(control, house):
    asked = {"user_id": "anna", "application": "desk", "lifetime_s": 60}
    made = done(control, "POST", "tokens", {**asked, "scopes": ["svc:markets:read"]})
    left_ns = to_ns(made["expires_at"]) - house.venue.now_ns()
    assert 50 * 10**9 < left_ns <= 60 * 10**9
    base = f"http://127.0.0.1:{house.rest_port}/v1"
    headers = {"Authorization": f"Bearer {made['token']}"}
    with plain_client(base, headers) as rest:
        assert rest.get("/markets").status_code == 200
        assert rest.get("/portfolio/balance").status_code == 403


def test_a_secret_is_shown_once(control, capfd):
    made = done(control, "POST", "keys", {"user_id": "anna", "scopes": ["read"]})
    for path in ("keys", "status", "users", "faults"):
        assert made["key"] not in ask(control, "GET", path).text
    assert made["key"] not in "".join(capfd.readouterr())
    assert refused(control, "POST", f"keys/{made['key']}/revoke")[2] == "no key with this key_id"

"""Claims about the error table: every published code, its status, and what it says of a write."""

from pathlib import Path

import pytest

from venue.wire.errors import CODES, PRECEDENCE, Advice, Code, Culprit, Row, Sequenced, row_for

TABLE = Path(__file__).parents[3] / "venue/conformance/codes.txt"
ROWS = [
    tuple(line.split()[:3])
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_codes_are_the_published_ones_in_their_order():
    ours, published = [code.value for code in Code], [code for _, code, _ in ROWS]
    missing = sorted({*ours} ^ {*published})
    assert not missing, f"{missing}: one row in venue/wire/errors.py, one in {TABLE.name}"
    assert ours == published


@pytest.mark.parametrize(("status", "code", "sequenced"), ROWS)
def test_a_code_has_its_published_status_and_sequencing(status, code, sequenced):
    row = CODES[Code(code)]
    assert (row.status, row.sequenced) == (int(status), Sequenced(sequenced))


def test_every_code_has_a_row_and_precedence_is_their_order():
    assert set(CODES) == set(Code), "a code has its row in CODES, next to its name in Code"
    assert sorted(Code, key=PRECEDENCE.__getitem__) == list(Code)


@pytest.mark.parametrize(
    ("sequenced", "advice"),
    [(Sequenced.NEVER, Advice.WAIT), (Sequenced.UNKNOWN, Advice.READ_BACK)],
)
def test_unsequenced_writes_may_be_retried_and_unknown_ones_are_read_back(sequenced, advice):
    assert {row.advice for row in CODES.values() if row.sequenced is sequenced} == {advice}


@pytest.mark.parametrize("code", Code)
def test_the_culprit_of_a_code_follows_from_its_status(code):
    by_status = {
        400: Culprit.CALLER,
        401: Culprit.CREDENTIAL,
        403: Culprit.CREDENTIAL,
        404: Culprit.STATE,
        409: Culprit.STATE,
        422: Culprit.STATE,
        429: Culprit.PACE,
        500: Culprit.SERVICE,
        503: Culprit.SERVICE,
    }
    exceptions = {Code.INVALID_REQUEST: Culprit.CALLER, Code.ENGINE_OVERLOADED: Culprit.SERVICE}
    row = CODES[code]
    assert row.culprit is exceptions.get(code, by_status[row.status])


@pytest.mark.parametrize(
    ("advice", "codes"),
    [
        (Advice.STOP_KEY, "unauthenticated forbidden_scope api_key_misconfigured"),
        (Advice.STOP_KEY, "conflicting_credentials"),
        (Advice.FRESH_WALK, "invalid_cursor"),
        (Advice.PARK_MARKET, "market_not_found market_halted market_resolved"),
        (Advice.PARK_VENUE, "venue_halted venue_cancel_only"),
        (Advice.LOOK_AGAIN, "order_not_found"),
        (Advice.REREAD_FUNDS, "insufficient_balance insufficient_shares"),
        (Advice.EXISTS, "duplicate_order_id"),
        (Advice.ENDED, "order_not_cancelable"),
        (Advice.GIVE_UP, "budget_not_fillable no_executable_liquidity"),
        (Advice.FIX, "invalid_price invalid_qty invalid_request invalid_request_body"),
    ],
)
def test_a_rejection_code_names_the_next_step(advice, codes):
    assert {CODES[Code(code)].advice for code in codes.split()} == {advice}


@pytest.mark.parametrize("code", Code)
def test_a_known_code_has_its_own_row_at_any_status(code):
    assert row_for(599, code.value) == CODES[code]


READ_BACK = (Culprit.SERVICE, Sequenced.UNKNOWN, Advice.READ_BACK)
FIX = (Culprit.CALLER, Sequenced.DECIDED, Advice.FIX)
STOP_KEY = (Culprit.CREDENTIAL, Sequenced.DECIDED, Advice.STOP_KEY)
WAIT = (Culprit.PACE, Sequenced.NEVER, Advice.WAIT)


@pytest.mark.parametrize(
    ("row", "statuses"),
    [
        (READ_BACK, [100, 301, 308, 500, 502, 504]),
        (FIX, [400, 404, 418, 422, 499]),
        (STOP_KEY, [401, 403]),
        (WAIT, [429]),
    ],
)
@pytest.mark.parametrize("code", ["", "a_code_of_tomorrow", "RATE_LIMITED"])
def test_an_unrecognised_code_is_a_generic_failure_of_its_status_class(row, statuses, code):
    assert [row_for(status, code) for status in statuses] == [Row(each, *row) for each in statuses]

"""The tables of the records, as forward steps: each takes a store from one version to the next.

A step that has been released is never changed; what is to be other is a new step at the end. The
text is that of PostgreSQL, from which `bot.records.database` makes SQLite's. Amounts are whole
cents or thousandths of a cent, times nanoseconds since 1970, all of them integers of 64 bits.

`account` is a number made of the bot's name and of what it trades on (see `bot.records.rows`), so
that several bots may share a PostgreSQL and an embedded venue's fills never meet those of the next.
"""

from typing import Final

Step = tuple[str, ...]

STEPS: Final[tuple[Step, ...]] = (
    (
        """CREATE TABLE accounts (
            account BIGINT PRIMARY KEY, book TEXT NOT NULL, label TEXT NOT NULL,
            begun_ns BIGINT NOT NULL)""",
        """CREATE TABLE cursors (
            book TEXT PRIMARY KEY, account BIGINT NOT NULL, segment BIGINT NOT NULL,
            opened_ns BIGINT NOT NULL, place BIGINT NOT NULL, at_ns BIGINT NOT NULL)""",
        """CREATE TABLE rungs (
            account BIGINT NOT NULL, market_id TEXT NOT NULL, ticker TEXT NOT NULL,
            event_ticker TEXT NOT NULL, maker_fee TEXT NOT NULL, taker_fee TEXT NOT NULL,
            seen_ns BIGINT NOT NULL, resolved_ns BIGINT, winner TEXT, settled_ns BIGINT,
            PRIMARY KEY (account, market_id))""",
        """CREATE TABLE fills (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, created_ns BIGINT NOT NULL,
            market_id TEXT NOT NULL, ticker TEXT NOT NULL, event_ticker TEXT NOT NULL,
            order_id TEXT NOT NULL, trade_id TEXT NOT NULL, outcome TEXT NOT NULL,
            side TEXT NOT NULL, price BIGINT NOT NULL, qty BIGINT NOT NULL,
            fee_cents BIGINT NOT NULL, fee_units BIGINT, liquidity TEXT NOT NULL,
            PRIMARY KEY (account, fill_id))""",
        "CREATE INDEX fills_by_time ON fills (account, created_ns)",
        "CREATE INDEX fills_by_order ON fills (account, order_id)",
        """CREATE TABLE valued (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, heard_ns BIGINT NOT NULL,
            value BIGINT NOT NULL, level BIGINT NOT NULL, strategy TEXT NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (account, fill_id))""",
        """CREATE TABLE marked (
            account BIGINT NOT NULL, fill_id TEXT NOT NULL, against TEXT NOT NULL,
            horizon_s BIGINT NOT NULL, value BIGINT NOT NULL, at_ns BIGINT NOT NULL,
            PRIMARY KEY (account, fill_id, against, horizon_s))""",
        """CREATE TABLE marks (
            account BIGINT NOT NULL, market_id TEXT NOT NULL, bucket_ns BIGINT NOT NULL,
            is_last BIGINT NOT NULL, at_ns BIGINT NOT NULL, value BIGINT,
            yes_qty BIGINT NOT NULL, no_qty BIGINT NOT NULL,
            PRIMARY KEY (account, market_id, bucket_ns, is_last))""",
        "CREATE INDEX marks_by_time ON marks (account, at_ns)",
        """CREATE TABLE balances (
            account BIGINT NOT NULL, bucket_ns BIGINT NOT NULL, is_last BIGINT NOT NULL,
            begun_ns BIGINT NOT NULL, ended_ns BIGINT NOT NULL, total_cents BIGINT NOT NULL,
            PRIMARY KEY (account, bucket_ns, is_last))""",
        """CREATE TABLE profits (
            account BIGINT NOT NULL, bucket_ns BIGINT NOT NULL, is_last BIGINT NOT NULL,
            at_ns BIGINT NOT NULL, started_ns BIGINT NOT NULL, profit BIGINT NOT NULL,
            spread BIGINT NOT NULL, adverse BIGINT NOT NULL, drift BIGINT NOT NULL,
            fees_cents BIGINT NOT NULL, worst_case_cents BIGINT NOT NULL,
            worst_case_limit_cents BIGINT NOT NULL,
            PRIMARY KEY (account, bucket_ns, is_last))""",
    ),
    ("CREATE INDEX marked_by_time ON marked (account, at_ns)",),
)
"""Step n makes version n + 1 of what version n was; version 0 is an empty store."""

DATED: Final = (
    ("marked", "at_ns"),
    ("valued", "heard_ns"),
    ("fills", "created_ns"),
    ("marks", "at_ns"),
    ("balances", "ended_ns"),
    ("profits", "at_ns"),
    ("rungs", "seen_ns"),
)
"""The tables that retention clears, each with the column that dates its rows."""

"""Commands about what is traded: `venue company`, `venue event`, `venue market`."""

from typing import Annotated

import typer

from venue.admin.cli_ask import (
    DEFAULT_CONTROL,
    DEFAULT_TOKEN_FILE,
    AdminTarget,
    Control,
    Json,
    TokenFile,
    given,
    noun,
    quoted,
)

company = noun("company", "Companies whose valuations are traded.", "list")
event = noun("event", "Quarterly events of a series.", "status OSIER-VAL-26Q4 closed")
market = noun("market", "Rungs and binary markets of an event.", "halt OSIER-VAL-26Q4-2.5B")

Company = Annotated[str, typer.Argument(help="UUID or symbol.")]
Market = Annotated[str, typer.Argument(help="Ticker or UUID.")]


@company.command("list", epilog="Example: venue company list --json")
def company_list(
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """List every company, archived ones too."""
    AdminTarget(control, token_file, as_json).run("GET", "companies")


@company.command("add", epilog='Example: venue company add "Osier Labs" OSIER')
def company_add(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    symbol: Annotated[str, typer.Argument(help="Its handle on the channel.")],
    project_id: Annotated[
        str | None, typer.Option(help="Its UUID; derived from the name otherwise.")
    ] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Add a company."""
    body = {"name": name, "symbol": symbol, "project_id": project_id}
    AdminTarget(control, token_file, as_json).run("POST", "companies", given(body))


@company.command("archive", epilog="Example: venue company archive WILLOW")
def company_archive(
    which: Company,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Take a company's handles out of the directory; its UUIDs go on resolving."""
    AdminTarget(control, token_file, as_json).run("POST", f"companies/{quoted(which)}/archive")


@company.command("rename", epilog="Example: venue company rename OSIER WILLOW")
def company_rename(
    which: Company,
    symbol: Annotated[str, typer.Argument(help="The new symbol.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Give a company another symbol."""
    path = f"companies/{quoted(which)}/symbol"
    AdminTarget(control, token_file, as_json).run("POST", path, {"symbol": symbol})


@company.command("value", epilog="Example: venue company value OSIER 2500000000 --confidence 0.8")
def company_value(
    which: Company,
    value_dollars: Annotated[str, typer.Argument(help="What it is thought to be worth, dollars.")],
    confidence: Annotated[str, typer.Option(help="A decimal number of 0 to 1.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Publish a company's implied value on the channel."""
    path = f"companies/{quoted(which)}/implied-value"
    body = {"value_dollars": value_dollars, "confidence": confidence}
    AdminTarget(control, token_file, as_json).run("POST", path, body)


@event.command(
    "add",
    epilog="\b\nExample: venue event add --company OSIER --series OSIER-VAL --quarter 26Q4 \\\n"
    '    --title "Valuation of Osier" --category valuation',
)
def event_add(
    of_company: Annotated[str, typer.Option("--company", help="UUID or symbol.")],
    series: Annotated[str, typer.Option(help="The series' ticker.")],
    quarter: Annotated[str, typer.Option(help="Such as 26Q4.")],
    title: Annotated[str, typer.Option(help="What is asked.")],
    category: Annotated[str, typer.Option(help="Such as valuation.")],
    status: Annotated[str, typer.Option(help="unopened, open or closed.")] = "open",
    mutually_exclusive: Annotated[
        bool,
        typer.Option(
            "--mutually-exclusive",
            help="Tell clients that one rung at most will resolve yes; nothing is enforced.",
        ),
    ] = False,
    resolution_date: Annotated[
        str | None, typer.Option(help="An RFC3339 instant in the quarter; its end otherwise.")
    ] = None,
    sub_title: Annotated[str | None, typer.Option(help="A second line.")] = None,
    resolution_source: Annotated[str | None, typer.Option(help="Who says how it ended.")] = None,
    project_market_id: Annotated[
        str | None, typer.Option(help="Its UUID; derived from the ticker otherwise.")
    ] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Add a series' event of one quarter; its markets follow with `venue market add`."""
    body = {
        "company": of_company,
        "series_ticker": series,
        "quarter": quarter,
        "title": title,
        "category": category,
        "status": status,
        "mutually_exclusive": mutually_exclusive,
        "resolution_date": resolution_date,
        "sub_title": sub_title,
        "resolution_source": resolution_source,
        "project_market_id": project_market_id,
    }
    AdminTarget(control, token_file, as_json).run("POST", "events", given(body))


@event.command("status", epilog="Example: venue event status OSIER-VAL-26Q4 closed")
def event_status(
    which: Annotated[str, typer.Argument(help="The event's ticker.")],
    status: Annotated[str, typer.Argument(help="unopened, open or closed.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Open or close an event."""
    path = f"events/{quoted(which)}/status"
    AdminTarget(control, token_file, as_json).run("PUT", path, {"status": status})


@market.command(
    "add",
    epilog="\b\nExample: venue market add OSIER-VAL-26Q4 2.5B \\\n"
    "    --maker-fee 0.01 --taker-fee 0.0175 \\\n"
    '    --strike-value 2.5 --strike-unit "USD billions"',
)
def market_add(
    of_event: Annotated[str, typer.Argument(metavar="EVENT", help="The event's ticker.")],
    label: Annotated[str, typer.Argument(help="The rung's label; YES for a binary market.")],
    maker_fee: Annotated[str, typer.Option(help="A decimal fraction of 0 to 1.")],
    taker_fee: Annotated[str, typer.Option(help="A decimal fraction of 0 to 1.")],
    strike_value: Annotated[
        str | None, typer.Option(help="A decimal number; else the one the label begins with.")
    ] = None,
    strike_unit: Annotated[
        str | None, typer.Option(help="Such as USD billions; else that of the event's other rungs.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Derived otherwise.")] = None,
    outcome_label: Annotated[str | None, typer.Option(help="Derived otherwise.")] = None,
    description: Annotated[str | None, typer.Option(help="The rules in words.")] = None,
    market_id: Annotated[
        str | None, typer.Option(help="Its UUID; derived from the ticker otherwise.")
    ] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Add a market to an event."""
    body = {
        "event_ticker": of_event,
        "label": label,
        "maker_fee_rate": maker_fee,
        "taker_fee_rate": taker_fee,
        "strike_value": strike_value,
        "strike_unit": strike_unit,
        "name": name,
        "outcome_label": outcome_label,
        "description": description,
        "market_id": market_id,
    }
    AdminTarget(control, token_file, as_json).run("POST", "markets", given(body))


@market.command("halt", epilog="Example: venue market halt OSIER-VAL-26Q4-2.5B")
def market_halt(
    which: Market,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Refuse creates and amends on a market; cancels work."""
    AdminTarget(control, token_file, as_json).run("POST", f"markets/{quoted(which)}/halt")


@market.command("resume", epilog="Example: venue market resume OSIER-VAL-26Q4-2.5B")
def market_resume(
    which: Market,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Make a halted market active again."""
    AdminTarget(control, token_file, as_json).run("POST", f"markets/{quoted(which)}/resume")


@market.command("resolve", epilog="Example: venue market resolve OSIER-VAL-26Q4-2.5B yes")
def market_resolve(
    which: Market,
    winner: Annotated[str, typer.Argument(help="yes or no.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Pay 100 cents to every share of the winner, for ever."""
    path = f"markets/{quoted(which)}/resolve"
    AdminTarget(control, token_file, as_json).run("POST", path, {"winner": winner})

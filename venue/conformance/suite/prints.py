"""Checks of the prints that the channel pushes: at whose price, who did what, of which market."""

from venue.conformance.api import buy, by_id, sell
from venue.conformance.bench import Bench
from venue.conformance.judge import Json, same
from venue.conformance.registry import check


@check(readings="S8 S10")
def check_a_print_of_the_channel_is_canonical_whoever_made_it(bench: Bench) -> None:
    """Target types | prediction-trade and -ticker are in canonical YES cents for all.
    Target types | maker and taker show what each did, sales too.
    Ticker structure | A frame about a market carries its ticker and UUID.
    """
    market, other = bench.markets(2)
    listener = bench.listener()
    listener.accepted(by_id(market), by_id(other))
    bench.trade(market, 40, 4)
    bench.clara.placed(**buy(market, "no", 70, 1))
    bench.anna.placed(**buy(market, "yes", 30, 1))
    bench.bruno.placed(**sell(market, "no", 55, 2))
    bench.anna.placed(**sell(market, "yes", 45, 2))
    bench.anna.placed(**sell(market, "yes", 60, 3))
    bench.clara.placed(**buy(market, "yes", 60, 3))
    wanted = [
        (40, 4, ("yes", "buy"), ("no", "buy")),
        (30, 1, ("no", "buy"), ("yes", "buy")),
        (45, 2, ("no", "sell"), ("yes", "sell")),
        (60, 3, ("yes", "sell"), ("yes", "buy")),
    ]
    prints: list[Json] = []
    tickers: list[Json] = []
    while len(prints) < len(wanted) or len(tickers) < len(wanted):
        data = listener.frame()["data"]
        if data["eventMarketId"] == other["market_id"]:
            # Nobody trades there: its book comes, and nothing else.
            same(data["type"], "prediction-orderbook")
            continue
        same((data["ticker"], data["eventMarketId"]), (market["ticker"], market["market_id"]))
        if data["type"] == "prediction-trade":
            prints.append(data)
        elif data["type"] == "prediction-ticker":
            tickers.append(data)
    same(
        [(row["price"], row["size"], _did(row, "maker"), _did(row, "taker")) for row in prints],
        wanted,
    )
    same([(row["price"], row["size"]) for row in tickers], [row[:2] for row in wanted])


def _did(row: Json, role: str) -> tuple[str, str]:
    return row[role]["outcome"], row[role]["side"]

"""`bot compare`: split variants against the setting of the series, from the records."""

import json
import time
from typing import Annotated

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, EXIT_VENUE, exit_on_fault, fail, read_config
from bot.cli.options import ConfigPath, Json, StateDir, moment_ns
from bot.cli.sidecars import open_store
from bot.config.bot_config import finish
from bot.lab.evaluate.statistics import CASES_MIN
from bot.lab.variant_comparison import Contrast, VariantComparison, compare_variant, fills_of
from bot.page.text import text_table
from bot.strategy.api import name_of
from bot.strategy.variants import Split


def compare(
    config: ConfigPath,
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME|AGO", help="Only fills from then on: 2026-11-21T21:38:43Z, or 12h."
        ),
    ] = "",
    account: Annotated[
        str, typer.Option(metavar="LABEL", help="The account, if not the newest with such fills.")
    ] = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """What the fills of each variant with a split were worth an hour, against those of the series'
    own setting on the same rungs, after 1, 10, 60 and 300 seconds and with fees paid; and the 95 %
    interval of the difference, over pairs of blocks of time. It reads the records alone, while the
    bot runs or after.

    Ends with 2 if no variant of the configuration has a split, with 3 without records of such
    fills.

    Example: bot compare configs/split.yaml
    """
    now_ns = time.time_ns()
    from_ns = moment_ns("--since", since, lambda ns: now_ns - ns, "12h") if since else 0
    with exit_on_fault():
        draft = read_config(config)
        whole = finish(draft)
        base = name_of(whole.make_strategy())
        variants = [each.variant for each in whole.choice.variants]
        if all(each.split is Split.NONE for each in variants):
            text = "no variant has a split: there is nothing to compare"
            fail(EXIT_CONFIGURATION, f"{config}: strategy.variants: {text}")
        store = open_store(draft.records, draft.name, state_dir or draft.state.directory)
        try:
            for row in store.accounts():
                if account not in ("", row.label):
                    continue
                fills = fills_of(store, row.account, from_ns, now_ns)
                found = [compare_variant(each, base, fills) for each in variants]
                compared = [each for each in found if each is not None]
                if compared:
                    break
            else:
                fail(EXIT_VENUE, "no records of fills of these settings")
        finally:
            store.close()
    if json_line:
        rows = msgspec.to_builtins(compared, str_keys=True)
        typer.echo(json.dumps({"account": row.label, "variants": rows}))
    else:
        typer.echo("\n\n".join([f"account {row.label}", *map(comparison_text, compared)]))


def comparison_text(found: VariantComparison) -> str:
    """A table: shares an hour, and what the fills were worth in cents an hour, by horizon."""
    rows = [
        ("an hour", "pairs", found.variant, found.base, "difference", "95 % interval"),
        _row("shares", found.qty),
        *(
            _row(f"cents, after {horizon_s} s", contrast)
            for horizon_s, contrast in found.worth.items()
        ),
    ]
    few = ""
    if found.pairs < CASES_MIN:
        few = f"; {CASES_MIN} pairs are the fewest that give an interval"
    fills = " and ".join(map(str, found.fills))
    return (
        f"{found.variant} against {found.base}, split by {found.split}, {fills} fills in "
        f"{found.pairs} pairs of blocks of {found.block_s:g} s{few}\n{text_table(rows)}"
    )


def _row(name: str, each: Contrast) -> tuple[str, ...]:
    gap = each.difference
    ends = "-" if gap.least is None or gap.most is None else f"{gap.least:+.1f} to {gap.most:+.1f}"
    means = f"{each.variant:.1f}", f"{each.base:.1f}", f"{gap.value:+.1f}"
    return name, str(each.pairs), *means, ends

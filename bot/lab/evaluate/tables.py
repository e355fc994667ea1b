"""The findings as text: Markdown for docs/strategies.md, nulls included, worst cells marked."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bot.io.folder.whole import replace_named
from bot.lab.evaluate.compare import Claim, Comparison, Point
from bot.lab.evaluate.statistics import Interval

BEGIN: Final = "<!-- evaluation: begin -->"
END: Final = "<!-- evaluation: end -->"


_MANY_WORLDS: Final = 3
"""So many are told of at a glance, too."""


def markdown(found: Comparison) -> str:
    """Every table, one world after another."""
    parts = [*(f"**{_flat(each.text)}.**" for each in found.faults), _head(found)]
    if found.claims:
        if len(found.worlds) >= _MANY_WORLDS:
            parts.append(_glance(found))
        parts.append(_claims(found))
    if found.budgets:
        parts.append(_budgets(found))
    parts += [_world(found, world) for world in found.worlds]
    return "\n\n".join(parts) + "\n"


def around(path: Path) -> tuple[str, str]:
    """What stands in a file before the first marker and after the second.

    Raises ValueError when it has none, and OSError when it cannot be read.
    """
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: no {BEGIN} and {END} to put the tables between")
    return before, after


def write_into(path: Path, found: Comparison) -> None:
    """Put the tables between the two markers of a file. Raises as `around` does."""
    before, after = around(path)
    replace_named(path, f"{before}{BEGIN}\n{markdown(found)}{END}{after}".encode())


def verdict(claim: Claim) -> str:
    """What an interval says, in a word: yes, no, or open where it spans zero."""
    if claim.holds:
        return "yes"
    return "**no**" if claim.is_worse else "open"


def worst_cells(claims: Iterable[Claim]) -> set[tuple[str, str]]:
    """For each rival the world in which the champion gains least, by its sds."""
    least: dict[str, Claim] = {}
    for claim in claims:
        last = least.get(claim.rival)
        if last is None or _scaled(claim) < _scaled(last):
            least[claim.rival] = claim
    return {(claim.world, claim.rival) for claim in least.values()}


def _scaled(claim: Claim) -> float:
    sds = sum(claim.sds)
    return claim.gain.value * len(claim.sds) / sds if sds > 0 else 0.0


def _head(found: Comparison) -> str:
    if found.variants == len(found.entries):
        tuned = "one setting of each entry, so that none was chosen"
    elif found.tuned_on:
        tuned = f"settings chosen on seeds {found.tuned_on}"
    else:
        tuned = "**settings chosen on the very seeds reported**"
    return (
        f"Seeds {found.seeds}, {tuned}; {len(found.entries)} entries, {found.variants} settings, "
        f"{len(found.worlds)} worlds, {len(found.claims)} claims; code {found.code}."
    )


def _flat(text: str) -> str:
    """A text in one line, for what a strategy raises may have several."""
    return " ".join(text.split())


def _glance(found: Comparison) -> str:
    """A row for each world, a column for each rival, and what they come to together."""
    by_rival: dict[str, dict[str, Claim]] = {}
    for claim in found.claims:
        by_rival.setdefault(claim.rival, {})[claim.world] = claim
    rows = [
        f"### What `{found.champion}` gains at equal sd, $ a life [95 %]",
        "",
        _row(["world", *by_rival]),
        _row(["---"] * (1 + len(by_rival))),
    ]
    for world in found.worlds:
        gains = [_interval(claims[world].gain, 1) for claims in by_rival.values()]
        rows.append(_row([world, *gains]))
    worlds = len(found.worlds)
    means = [_interval(each.gain, 1) for each in found.overall]
    counts = [
        f"{each.above}, {worlds - each.above - each.below}, {each.below}" for each in found.overall
    ]
    rows.append(_row(["mean of the worlds", *means]))
    rows.append(_row(["worlds above, around, below zero", *counts]))
    return "\n".join(rows)


def _claims(found: Comparison) -> str:
    rows = [
        f"### `{found.champion}` against each other, at equal sd",
        "",
        "| world | against | at sds | gain $ [95 %] | p, Holm | better | chosen sd | gain there "
        "| edge/sd gain [95 %] | seeds won-lost | gain of profits alone $ [95 %] |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    worst = worst_cells(found.claims) if len(found.worlds) > 1 else set()
    for claim in found.claims:
        mark = " (worst)" if (claim.world, claim.rival) in worst else ""
        span = f"{min(claim.sds):.1f}-{max(claim.sds):.1f}"
        rows.append(
            f"| {claim.world}{mark} | {claim.rival} | {span} | {_dollars(claim.gain)} "
            f"| {claim.p:.4f} | {verdict(claim)} | {claim.sd:.1f} | {_dollars(claim.chosen_gain)} "
            f"| {_interval(claim.ratio_gain, 3)} | {claim.wins}-{claim.losses} "
            f"| {_dollars(claim.profit_gain)} |"
        )
    return "\n".join(rows)


def _dollars(of: Interval) -> str:
    return _interval(of, 2)


def _interval(of: Interval, digits: int) -> str:
    return f"{of.value:+.{digits}f} [{of.low:+.{digits}f}, {of.high:+.{digits}f}]"


def _budgets(found: Comparison) -> str:
    rows = [
        "### What a budget does",
        "",
        "| world | entry | budget $ | edge $ | kept [95 %] | q05 $ | q01 $ |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in found.budgets:
        kept = line.edge_kept
        rows.append(
            f"| {line.world} | {line.entry} | {line.budget} "
            f"| {line.edge_before:.2f} -> {line.edge_after:.2f} "
            f"| {kept.value:.0%} [{kept.low:.0%}, {kept.high:.0%}] "
            f"| {line.q05_before:.2f} -> {line.q05_after:.2f} "
            f"| {line.q01_before:.2f} -> {line.q01_after:.2f} |"
        )
    return "\n".join(rows)


_HEADS: Final = (
    "entry",
    "at",
    "mean $",
    "sd",
    "sd seen",
    "edge $",
    "edge/sd",
    "q05",
    "q01",
    "spread",
    "inventory",
    "fees",
    "adverse",
    "early",
    "drawdown",
    "worst case 99 %",
    "mark 10 s c",
    "fills",
    "requests a fill",
    "429",
    "both within 2c",
    "at touch",
    "waste",
)


def _world(found: Comparison, world: str) -> str:
    rows = [f"### {world}", "", _row(_HEADS), _row(["---"] * len(_HEADS))]
    for line in found.lines:
        if line.world == world:
            rows.append(_row(_cells(line.entry, line.risk, line.chosen)))
    return "\n".join(rows)


def _cells(entry: str, risk: str, point: Point) -> list[str]:
    means = point.means
    at = "" if point.value is None else f"{risk} {point.value:g}"
    mark = point.markouts.get("all", {}).get("fair_10s")
    latched = f" (latched {point.latched})" if point.latched else ""
    dollars = [means[name] for name in ("spread", "inventory", "fees", "adverse", "early")]
    varied = (f"{point.sd:.2f}", f"{point.seen_sd:.2f}", f" ± {point.edge_error:.2f}",
              f"{point.ratio:.2f}")  # fmt: skip
    # One life says nothing of how far another one would lie from it.
    sd, seen_sd, error, ratio = varied if point.seeds > 1 else ("", "", "", "")
    return [
        entry + latched,
        at,
        f"{point.mean:.2f}",
        sd,
        seen_sd,
        f"{point.edge:.2f}{error}",
        ratio,
        f"{point.q05:.1f}",
        f"{point.q01:.1f}",
        *(f"{each:.2f}" for each in dollars),
        f"{means['drawdown']:.1f}",
        f"{point.worst_99:.0f}",
        "" if mark is None else f"{mark:+.2f}",
        f"{means['fills']:.0f}",
        "" if point.requests_per_fill is None else f"{point.requests_per_fill:.1f}",
        f"{means['refused_for_pace']:.1f}",
        f"{means['uptime']:.1%}",
        f"{means['touch_share']:.0%}",
        f"{means['waste']:.2f}",
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

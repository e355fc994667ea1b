"""Runs schemathesis, a process of its own, over the description that a venue serves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.fuzz import SITE_VARIABLE
from tests.fuzz.site import ROOT, Site

KNOWN = 0.8
"""The share of names that name something; the rest is whatever the pattern allows."""

WRITES_MORE = 3

ALL_PHASES = "examples,coverage,fuzzing,stateful"
STATEFUL = "stateful"

PLACES = {
    "markets": ("query.ticker", "path.market_id"),
    "events": ("query.event_ticker", "path.event_ticker"),
    "series": ("query.series_ticker",),
    "projects": ("query.project_id",),
    "orders": ("query.order_id", "path.order_id"),
}
"""Where which names are put."""

SETTINGS = """\
hooks = "tests.fuzz.hooks"
seed = {seed}
continue-on-failure = true
suppress-health-check = ["all"]
warnings = false
cache.enabled = false

[output.truncation]
max-payload-size = 2000
max-lines = 30
max-width = 400

[generation]
deterministic = {deterministic}
database = "none"
with-security-parameters = false
max-examples = {examples}

[phases.coverage]
generate-duplicate-query-parameters = true

[phases.stateful]
max-steps = 8
generation.max-examples = {sequences}

[[operations]]
# Most of what is generated for the two largest bodies is refused before the engine sees it.
include-operation-id = ["create_order", "amend_order"]
generation.max-examples = {write_examples}

[checks]
# What the state decides is no rejection of the data: funds, the order, the market.
positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
# Unknown methods are 404 here (S49); `an_unknown_method_is_not_found` looks at them instead.
unsupported_method.enabled = false
# A canceled order stays readable: cancelling ends an order, it does not delete it.
use_after_free.enabled = false
# Wants two named users; `an_order_is_its_owners_secret` does it with two keys.
object_level_authorization.enabled = false

[dictionaries]
{names}

[parameters]
{places}
"""


def fuzz(
    site: Site,
    folder: Path,
    *,
    examples: int,
    sequences: int,
    seed: int,
    deterministic: bool,
    phases: str = ALL_PHASES,
    within_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Positive and negative data. The exit code is 0 when nothing was found.

    examples: cases per operation in the fuzzing phase. sequences: walks of the stateful phase, at
    most; the tool ends it earlier, after about a hundred.
    deterministic: the same cases each time, but for the ids that the venue makes up. Its text
    shows each finding with the request as a curl command, the key masked. Raises TimeoutExpired
    after `within_s` seconds.
    """
    names = {
        "markets": site.markets,
        "events": site.events + site.series,
        "series": site.series,
        "projects": site.project_ids,
        "orders": site.orders,
    }
    settings = folder / "schemathesis.toml"
    settings.write_text(
        SETTINGS.format(
            seed=seed,
            deterministic=str(deterministic).lower(),
            examples=examples,
            write_examples=WRITES_MORE * examples,
            sequences=sequences,
            names="\n".join(f"{name}.values = {json.dumps(n)}" for name, n in names.items()),
            places="\n".join(
                f'"{place}" = {{ dictionary = "{name}", probability = {KNOWN} }}'
                for name, places in PLACES.items()
                for place in places
            ),
        ),
        encoding="utf-8",
    )
    told = folder / "site.json"
    told.write_bytes(msgspec.json.encode(site))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "run"]
    return subprocess.run(
        [*command, "--phases", phases, f"{site.base_url}/openapi.yaml"],
        cwd=ROOT,
        env={**os.environ, SITE_VARIABLE: str(told), "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )

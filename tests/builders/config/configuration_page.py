"""The page docs/configuration.md, made from the sections; run as a module it prints the page."""

import re
import sys
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config.diff import written
from bot.config.sections import RESTART, File, LivePart, applies_of, section_of
from bot.config.validation import accepted

HEAD = """# The configuration file

One YAML file per series; `make pages` makes this page from `bot/config/sections.py`. For editors a
file names the JSON Schema `configs/schema.json` in its first line:
`# yaml-language-server: $schema=schema.json`.

- Values are plain text: `no` is a word, 12.50 is not a number of cents. A dash is no value.
- Units are in the keys: `_cents`, `_qty` (shares), `_ms`, `_pct`, `_millicents` (thousandths of a
  cent). Ranges are of whole numbers. Without one `_ms` takes 1 to 600000, `_cents` 0 to 100000000,
  `_qty` 0 to 1000000. 0 switches a limit off only where the table says so.
- The start refuses unknown and duplicate keys and values outside their bounds, all at once, with
  file, line, key, value and the accepted values.
- Paths start from the file's own folder, the state directory from where the program starts.
- A renamed key keeps its old name for one version, with a warning.
- Secrets are never in the file: it names files and environment variables.

```
bot config show configs/demo.yaml           # every key: value in force, where from, live or restart
bot config diff old.yaml new.yaml           # the differences; which a running bot takes over
```

## Changes while the bot runs

The bot reads its file when its content changes, and at once on SIGHUP. It checks the whole file
while trading goes on, then applies it between two decisions, as one journal event: `bot pnl` and
`bot explain` replay each instant with its own configuration.

**The bot applies nothing of a file** that

- has a fault;
- changes a key that takes a restart, whatever live keys it changes too;
- raises a limit of `risk` or `breakers` to more than ten times its value, or to 0, until
  `bot config confirm CONFIG --yes`.

The old configuration then stays in force, and the log says `config_refused` with the reason;
otherwise `config_applied` with each changed key.

| change | effect |
|---|---|
| strategy or its parameters | a new instance an event; learned fair values, flow and fills stay |
| code of a strategy | takes a restart |
| a lower limit of `risk` | orders beyond it are cancelled at once |
| a limit of a breaker | a count already above the old limit trips first |

**The first minute of quoting is a trial.** The old configuration comes back
(`config_rolled_back`) if

- the strategy of an event raises, gives an invalid answer, is interrupted, or is too slow three
  times in a row, and was not at fault at the change; or
- a breaker trips; or
- of the rungs that could be quoted on both sides, the share with orders on both stays below half of
  its value at the change for ten seconds.

Time paused, latched or flattening does not count. A second change restarts the minute. A rollback
keeps the tighter of old and new limits of `risk` and `breakers`; a change that only tightens limits
has no trial. The bot retries a rejected file on SIGHUP, when it changes, and at the next start.

"""

RANGE = re.compile(r"a whole number, at least (\d+), at most (\d+)")
USUAL_RANGES = {"ms": "1 to 600000", "cents": "0 to 100000000", "qty": "0 to 1000000"}
"""By unit of a key; the head of the page has them, the tables only what differs."""

ROW = "| key | default | meaning |\n|---|---|---|\n"


def page() -> str:
    """The whole page: the keys at the top, then section by section."""
    top = [(name, field) for name, field in File.model_fields.items() if section_of(field) is None]
    parts = [
        "## Keys at the top\n\nRestart.\n\n" + ROW + "".join(_row(File, "", *each) for each in top)
    ]
    for name, prefix, model in _sections(File, ""):
        rows = "".join(
            _row(model, prefix, key, field)
            for key, field in model.model_fields.items()
            if section_of(field) is None
        )
        if rows:
            about = " ".join((model.__doc__ or "").split())
            parts.append(f"## `{name}`\n\n{about} {_applies(model)}\n\n{ROW}{rows}")
    return HEAD + "\n".join(parts)


def _sections(
    of: type[BaseModel], before: str
) -> Iterator[tuple[str, str, type[BaseModel]]]:  # fmt: skip
    """Every section with its name and the prefix of its keys, each before those inside of it."""
    for name, field in of.model_fields.items():
        model = section_of(field)
        if model is not None:
            many = "[]" if str(field.annotation).startswith("tuple") else ""
            yield f"{before}{name}", f"{before}{name}{many}.", model
            yield from _sections(model, f"{before}{name}{many}.")


def _range(found: re.Match[str]) -> str:
    return f"{found[1]} to {found[2]}"


def _applies(model: type[BaseModel]) -> str:
    """When a change of the section's keys takes effect, with the exceptions."""
    others = [
        f"`{name}`"
        for name, field in model.model_fields.items()
        if applies_of(model, field) != str(getattr(model, "applies", RESTART))
    ]
    if not issubclass(model, LivePart):
        assert not others, model
        return "Restart."
    return f"Live, except {' and '.join(others)}." if others else "Live."


def _row(model: type[BaseModel], prefix: str, name: str, field: FieldInfo) -> str:
    takes = RANGE.sub(_range, accepted(field))
    about = field.description or ""
    is_usual = takes == USUAL_RANGES.get(name.rpartition("_")[2])
    meaning = about if is_usual or about == accepted(field) else f"{takes}: {about}"
    cells = (f"`{prefix}{name}`", default(field), meaning)
    return "| " + " | ".join(each.replace("|", "or") for each in cells) + " |\n"


def default(field: FieldInfo) -> str:
    """The default as it is written in YAML; a dash where there is none."""
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, tuple) and value and value == tuple(type(value[0])):
        return "all"
    return "-" if value in (None, (), {}) else written(value)


if __name__ == "__main__":
    sys.stdout.write(page())

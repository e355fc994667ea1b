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

- Values are plain text: `no` is a word, 12.50 is not a number of cents. Ranges are of whole
  numbers. A dash is no value.
- Unknown keys, duplicate keys and values outside their bounds are refused, all at once, with file,
  line, key, value and the accepted values. 0 switches a limit off only where the table says so.
- Units are in the keys: `_cents`, `_qty` (shares), `_ms`, `_pct`, `_millicents` (thousandths of a
  cent).
- Paths start from the file's own folder, the state directory from where the program starts.
- A renamed key keeps its old name for one version, with a warning.
- Secrets are never in the file: it names files and environment variables.

```
bot config show configs/demo.yaml           # every key: value in force, where from, live or restart
bot config diff old.yaml new.yaml           # the differences; which a running bot takes over
bot config schema                           # the JSON Schema
kill -HUP PID                               # read the file now; the bot sees a change anyway
```

## Changes while the bot runs

The bot looks at its file once a second, and at once on SIGHUP. It reads a content that has not
changed for half a second and that nobody has open for writing. It checks the whole file while
trading goes on, then applies it between two decisions, as one journal event: `bot pnl` and
`bot explain` replay each instant with its own configuration.

**The bot applies nothing of a file** that

- has a fault;
- changes a key that takes a restart, whatever live keys it changes too;
- raises a limit of `risk` or `breakers` to more than ten times its value, or to 0, until
  `bot config confirm CONFIG --yes` (a lower limit applies at once).

The old configuration then stays in force.

| log event | says |
|---|---|
| `config_refused` (error) | file, line, key, value and the accepted values |
| `config_applied` | each changed key with old and new value, except keys of secrets |
| `config_rolled_back` (error) | the trial failed, see below |

| change | effect |
|---|---|
| strategy or its parameters | a new instance an event; learned fair values, flow and fills stay |
| code of a strategy | takes a restart |
| a lower limit of `risk` | orders beyond it are cancelled at once |
| a limit of a breaker | a count already above the old limit trips first |

**The first minute of quoting is a trial.** The old configuration comes back if

- the strategy of an event raises, gives an invalid answer, is interrupted, or is too slow three
  times in a row, and was not at fault at the change; or
- a breaker trips; or
- the share of rungs with orders on both sides stays below half of its value at the change for ten
  seconds (of rungs that could be quoted on both sides).

Time paused, latched or flattening does not count. A second change restarts the minute. A rollback
keeps the tighter of old and new limits of `risk` and `breakers`; a change that only tightens limits
has no trial. The bot retries a rejected file on SIGHUP, when it changes, and at the next start.

"""

RANGE = re.compile(r"a whole number, at least (\d+), at most (\d+)")
ROW = "| key | default | accepted: meaning |\n|---|---|---|\n"


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
    meaning = takes if about == accepted(field) else f"{takes}: {about}"
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

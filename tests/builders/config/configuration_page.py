"""The page docs/configuration.md, made from the sections; run as a module it prints the page."""

import re
import sys

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config.diff import written
from bot.config.sections import File, applies_of, section_of
from bot.config.validation import accepted

HEAD = """# The configuration file

One YAML file per series. `python -m tests.builders.config.configuration_page` makes this page from
`bot/config/sections.py`; a test keeps it current. `configs/schema.json` (`bot config schema`) is
the JSON Schema for editors; a file names it in its first line:
`# yaml-language-server: $schema=schema.json`.

- Values are plain text: `no` is a word, 12.50 is no number of cents.
- An unknown key, a duplicate key and a value outside its bounds are refused. All faults come at
  once, with file, line, key, value and the accepted values.
- A range is of whole numbers. A zero switches a limit off, or derives it from others, only where
  the table says so. A dash is no value.
- Units are in the keys: `_cents`, `_qty` (shares), `_ms`, `_pct`, `_millicents` (thousandths of a
  cent).
- Paths start from the file's own folder, the state directory from where the program starts.
- A renamed key keeps its old name for one version, with a warning that gives file, line and both
  names.
- Secrets are never in the file: it names files and environment variables.

```
bot config show configs/demo.yaml           # every key: value in force, where from, live or restart
bot config diff old.yaml new.yaml           # the differences; which a running bot takes over
bot config schema                           # the JSON Schema
kill -HUP PID                               # read the file now; the bot sees a change anyway
```

## Changes while the bot runs

The bot looks at its file once a second, and at once on SIGHUP. A content counts when two reads half
a second apart agree and nobody has the file open for writing. The bot checks the whole file and
loads the strategy while trading goes on. Then all of it applies between two decisions, as one
journal event that holds the whole configuration: `bot pnl` and `bot explain` replay each instant
with the configuration of that instant. Each series of a process has its own file.

**The bot applies nothing of a file** that

- has a fault;
- changes a key that takes a restart, whatever live keys it changes too;
- raises a limit of `risk` or `breakers` to more than ten times its value, or to 0, until
  `bot config confirm CONFIG --yes` confirms that content (a lower limit applies at once).

The old configuration stays in force until you correct or restore the file.

| log event | says |
|---|---|
| `config_refused` (error) | file, line, key, value and the accepted values |
| `config_applied` | each changed key with old and new value, but for keys of secrets |
| `config_rolled_back` (error) | the trial failed, see below |

| change | effect |
|---|---|
| strategy or its parameters | a new instance an event; learned fair values, flow and fills stay |
| any | the next decision moves orders, by an amend where possible: no quote is missing |
| a lower limit of `risk` | orders beyond it are cancelled at once |
| a breaker's limit lifted | a count already above the limit trips first |
| code of a strategy | takes a restart: a .py file is loaded once |

**The first minute of quoting is a trial.** The old configuration comes back if, within it,

- the strategy of an event raises, gives an answer that cannot be quoted, is interrupted, or is too
  slow three times in a row, and was not at fault at the change; or
- a breaker trips; or
- the share of rungs with orders on both sides stays below half of its value at the change for ten
  seconds. This counts rungs that could be quoted on both sides: active, not blocked, more
  than `wind_down.reduce_ms` from the end, and not pulled by the jump guard (unless `jump_guard`
  changed).

Time paused, latched or flattening does not count. A second change restarts the minute, and the
same configuration would come back. A rollback loosens no limit of `risk` or `breakers`: the
tighter of old and new holds. A change that only tightens limits has no trial. The rejected file is
retried on SIGHUP, when it changes, and at the next start.

"""

RANGE = re.compile(r"a whole number, at least (\d+), at most (\d+)")
ROW = "| key | default | accepted | a change | meaning |\n|---|---|---|---|---|\n"


def page() -> str:
    """The whole page: the keys at the top, then section by section."""
    top = [(name, field) for name, field in File.model_fields.items() if section_of(field) is None]
    parts = ["## Keys at the top\n\n" + ROW + "".join(_row(File, "", *each) for each in top)]
    for name, field in File.model_fields.items():
        model = section_of(field)
        if model is not None:
            many = "[]" if str(field.annotation).startswith("tuple") else ""
            prefix = f"{name}{many}."
            rows = "".join(_row(model, prefix, *each) for each in model.model_fields.items())
            about = " ".join((model.__doc__ or "").split())
            parts.append(f"## `{name}`\n\n{about}\n\n{ROW}{rows}")
    return HEAD + "\n".join(parts)


def _range(found: re.Match[str]) -> str:
    return f"{found[1]} to {found[2]}"


def _row(model: type[BaseModel], prefix: str, name: str, field: FieldInfo) -> str:
    takes = RANGE.sub(_range, accepted(field))
    about = field.description or ""
    meaning = "" if about == accepted(field) else about
    cells = (f"`{prefix}{name}`", default(field), takes, applies_of(model, field), meaning)
    return "| " + " | ".join(each.replace("|", "or") for each in cells) + " |\n"


def default(field: FieldInfo) -> str:
    """The default as it is written in YAML; a dash where there is none."""
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    return "-" if value in (None, (), {}) else written(value)


if __name__ == "__main__":
    sys.stdout.write(page())

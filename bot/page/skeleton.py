"""A page and its parts: tables, panels, columns, figures, folded text.

A page is one HTML file that needs no address, font or library. Each function escapes its texts;
arguments named inner, above, below and drawn are HTML.
"""

import html
from collections.abc import Container, Sequence
from importlib import resources

from bot.page.text import Income


def escaped(value: str) -> str:
    return html.escape(value)


def base_style() -> str:
    """The CSS that every page of ours begins with, the status page too."""
    return _style("base.css")


def _style(name: str) -> str:
    return (resources.files("bot.page") / name).read_text(encoding="utf-8")


def html_page(title: str, inner: str) -> str:
    """The whole file. Its policy allows no script."""
    style = base_style() + _style("page.css")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{escaped(title)}</title><style>{style}</style></head><body>"
        "<a class='skip' href='#main'>Skip to the figures</a>"
        f"<header><h1>{escaped(title)}</h1></header><main id='main' tabindex='-1'>"
        f"{inner}</main></body></html>\n"
    )


def panel(key: str, head: str, inner: str) -> str:
    """A section under its head. key: its id."""
    return (
        f"<section class='panel' aria-labelledby='{key}'><h3 id='{key}'>{escaped(head)}</h3>"
        f"{inner}</section>"
    )


def columns(inner: Sequence[str], count: int = 0) -> str:
    """Parts side by side. count: of a row; 0: all in one."""
    cells = "".join(f"<div>{each}</div>" for each in inner)
    return f"<div class='columns of{count or len(inner)}'>{cells}</div>"


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    sums: int = 0,
    words: bool = False,
    worst: Container[int] = (),
    label: str = "",
) -> str:
    """A table whose rows begin with their heading. Columns of text are aligned to the left, of
    numbers to the right; a cell of `Income` has its colour. sums: rows at the end that are sums.
    words: True if the last column is text that wraps. worst: the rows that are marked. label:
    instead of a caption that a heading has said."""
    kinds = [_column_class([row[at] for row in rows]) for at in range(len(head))]
    if words:
        kinds[-1] = "words"
    heads = "".join(
        f"<th scope='col'{_class(kind)}>{escaped(each)}</th>"
        for kind, each in zip(kinds, head, strict=True)
    )
    body = []
    for place, (first, *rest) in enumerate(rows):
        style = "sum" if place >= len(rows) - sums else ""
        style = "worst" if place in worst else style
        cells = "".join(
            f"<td{_class(kind, _tone(cell))}>{escaped(str(cell))}</td>"
            for kind, cell in zip(kinds[1:], rest, strict=True)
        )
        body.append(f"<tr{_class(style)}><th scope='row'>{escaped(str(first))}</th>{cells}</tr>")
    said = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escaped(label or caption)}'>"
        f"<table>{said}<thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _column_class(cells: Sequence[object]) -> str:
    return "text" if any(str(cell)[:1].isalpha() for cell in cells) else ""


def _tone(cell: object) -> str:
    return cell.tone if isinstance(cell, Income) else ""


def _class(*names: str) -> str:
    named = " ".join(filter(None, names))
    return f" class='{named}'" if named else ""


def numbers(rows: Sequence[tuple[str, str]]) -> str:
    """Key figures under their names; one of `Income` has its colour."""
    inner = "".join(
        f"<div><dt>{escaped(name)}</dt><dd{_class(_tone(value))}>{escaped(value)}</dd></div>"
        for name, value in rows
    )
    return f"<dl class='figures'>{inner}</dl>"


def folded(summary: str, inner: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"


def figure(kind: str, title: str, drawn: str, nothing: str, below: str = "") -> str:
    """One plot under its name, or `nothing`: why there is none. below: tables and notes."""
    if drawn:
        label = f"{title}: drawing"
        inner = (
            f"<div class='pane' tabindex='0' role='region' aria-label='{escaped(label)}'>"
            f"{drawn}</div>"
        )
    else:
        inner = f"<p class='nothing'>{escaped(nothing)}</p>"
    beside = f"<div class='beside'>{below}</div>" if below else ""
    state = "drawn" if drawn else "empty"
    return (
        f"<figure class='plot' data-plot='{kind}' data-state='{state}'>"
        f"<figcaption>{escaped(title)}</figcaption><div class='shown'><div>{inner}</div>"
        f"{beside}</div></figure>"
    )

// Makes and updates elements. Text only ever becomes a text node: nothing from the venue is markup.

const SVG = "http://www.w3.org/2000/svg";
export const byId = (id) => document.getElementById(id);

// An element with attributes; `text` among them is its text, `className` its class.
export function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (key === "className") made.className = value;
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function shape(name, attributes = {}, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Sets a text only where it differs, so that a selection or a reader's place is not lost.
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

export function name(element, classes) {
  if (element.className !== classes) element.className = classes;
}

// Keeps the children of `parent` in step with `items`, one child per key, in their order.
export function keyed(parent, items, key, make, update) {
  const had = parent.keyed ?? (parent.keyed = new Map());
  const has = new Map();
  let before = null;
  for (const item of items) {
    const id = String(key(item));
    if (has.has(id)) continue;
    const child = had.get(id) ?? make(item);
    has.set(id, child);
    had.delete(id);
    const after = before === null ? parent.firstChild : before.nextSibling;
    if (child !== after) parent.insertBefore(child, after);
    update(child, item);
    before = child;
  }
  for (const child of had.values()) child.remove();
  parent.keyed = has;
}

let tables = 0;

// A table with a caption and a head. columns: {head, words, title}; words are set left and wrap.
// `update(rows)` takes rows of {key, cells, className}; the first cell of a row is its heading.
export function table(caption, columns, { stack = false, empty = "Nothing yet." } = {}) {
  const head = node("tr", stack ? { role: "row" } : {});
  for (const column of columns) {
    head.append(node("th", { scope: "col", text: column.head, title: column.title,
      className: column.words ? "words" : "", role: stack ? "columnheader" : null }));
  }
  const body = node("tbody", stack ? { role: "rowgroup" } : {});
  const title = node("caption", { id: `caption-${tables += 1}`, text: caption });
  const made = node("table", stack ? { role: "table", className: "stack" } : {}, title,
    node("thead", stack ? { role: "rowgroup" } : {}, head), body);
  const nothing = node("p", { className: "soft nothing", text: empty });
  const box = node("div", { className: "scroll", role: "region", tabindex: 0,
    "aria-labelledby": title.id }, made, nothing);
  const make = () => node("tr", stack ? { role: "row" } : {});
  return {
    element: box,
    caption: (text) => say(title, text),
    update(rows) {
      nothing.hidden = rows.length > 0;
      made.hidden = rows.length === 0;
      keyed(body, rows, (row) => row.key, make, (line, row) => fill(line, row, columns, stack));
    },
  };
}

function fill(line, row, columns, stack) {
  name(line, row.className ?? "");
  row.cells.forEach((cell, index) => {
    let box = line.children[index];
    if (!box) {
      const heads = index === 0;
      box = node(heads ? "th" : "td", heads ? { scope: "row" } : {});
      if (stack) {
        box.setAttribute("role", heads ? "rowheader" : "cell");
        box.dataset.head = columns[index].head;
      }
      line.append(box);
    }
    const told = cell !== null && typeof cell === "object" ? cell : { text: cell };
    name(box, `${columns[index].words ? "words " : ""}${told.className ?? ""}`.trim());
    if (told.bar !== undefined) bar(box, told);
    else say(box, told.text ?? "–");
  });
}

// A cell with a bar behind its text, from the middle: `bar` is -1 to 1.
function bar(box, told) {
  let [text, drawn] = box.children;
  if (!text) {
    text = node("span", { className: "over" });
    drawn = node("span", { className: "bar", "aria-hidden": "true" });
    box.append(text, drawn);
  }
  say(text, told.text);
  drawn.classList.toggle("less", told.bar < 0);
  drawn.style.setProperty("--part", Math.min(1, Math.abs(told.bar)).toFixed(4));
}

// A gauge: `used` of `limit`, with words. mark: a share of the limit that is set apart.
export function gauge(parent, { used, limit, text, label, mark = 0 }) {
  let [words, rail] = parent.children;
  if (!words) {
    words = node("span", { className: "gauge-text" });
    rail = node("span", { className: "rail", role: "meter", "aria-label": label,
      "aria-valuemin": 0 }, node("span", { className: "fill" }), node("span", { className: "mark" }));
    parent.append(words, rail);
  }
  const part = limit > 0 ? Math.max(0, Math.min(1, used / limit)) : 0;
  say(words, text);
  rail.setAttribute("aria-valuemax", limit);
  rail.setAttribute("aria-valuenow", Math.max(0, Math.min(used, limit)));
  rail.setAttribute("aria-valuetext", text);
  rail.style.setProperty("--part", part.toFixed(4));
  rail.style.setProperty("--mark", mark.toFixed(4));
  return part;
}

// Names and values: pairs of {name, value, className, title}.
export function pairs(list, rows) {
  keyed(list, rows, (row) => row.name,
    (row) => node("div", {}, node("dt", { text: row.name, title: row.title }), node("dd")),
    (pair, row) => {
      say(pair.lastChild, row.value);
      name(pair.lastChild, row.className ?? "");
    });
}

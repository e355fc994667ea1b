// The whole ladder of an event as one picture: prices, distances from fair, shares held.
//
// Three rows over one axis of rungs. The first shows the curve from 0 to 100 cents; the second the
// same quotes as cents from the fair value, where a cent can be seen; the third what is held. The
// drawing is hidden from screen readers: a button over each rung says in words what is drawn there.

import { keyed, name, node, say, shape } from "./dom.js";
import { cents, net, rungName, unitOf } from "./words.js";

const LEFT = 34, RIGHT = 8, STEP_MIN = 30;
const PRICE = { top: 20, height: 190 };
const NEAR = { top: 250, height: 170 };
const HELD = { top: 460, height: 44 };
const HEIGHT = 548;
const NEAR_MIN = 5, NEAR_MAX = 20;
const LETTER = 7;

const LEGEND = [["fair", "fair value, two standard deviations"], ["bid", "own bids"],
  ["ask", "own asks"], ["touch", "best bid and ask of others"], ["hold", "YES less NO held"]];

export function ladderPicture(eventTicker, chosen) {
  const drawing = shape("svg", { "aria-hidden": "true", focusable: "false" });
  const columns = node("div", { className: "columns", role: "toolbar",
    "aria-label": `Rungs of ${eventTicker}: choose one to see its orders` });
  const canvas = node("div", { className: "canvas" }, drawing, columns);
  const pane = node("div", { className: "pane" }, canvas);
  const caption = node("figcaption", {}, legend());
  const figure = node("figure", { className: "ladder" }, pane, caption);
  let last = null, width = 0;
  columns.addEventListener("keydown", (press) => walk(columns, press));
  const redraw = () => {
    if (!last) return;
    const [event, pick] = last;
    const room = Math.max(pane.clientWidth, LEFT + RIGHT + STEP_MIN * event.rungs.length);
    canvas.style.setProperty("width", `${room}px`);
    paint(drawing, event, room, pick);
    buttons(columns, event, pick, chosen);
  };
  new ResizeObserver(() => {
    if (pane.clientWidth !== width) {
      width = pane.clientWidth;
      redraw();
    }
  }).observe(pane);
  return { element: figure, update(event, pick) {
    last = [event, pick];
    redraw();
  } };
}

function legend() {
  const list = node("ul", { className: "legend" });
  for (const [kind, text] of LEGEND) {
    list.append(node("li", {}, node("i", { className: `swatch ${kind}` }), text));
  }
  return list;
}

// --- a button a rung -----------------------------------------------------------------------------

function buttons(columns, event, pick, chosen) {
  keyed(columns, event.rungs, (rung) => rung.ticker, (rung) => {
    const made = node("button", { type: "button", "data-ticker": rung.ticker });
    made.addEventListener("click", () => chosen(made.dataset.ticker));
    return made;
  }, (button, rung) => {
    say(button, inWords(rung, event));
    button.setAttribute("aria-pressed", String(rung.ticker === pick));
    name(button, rung.blocked ? "blocked" : "");
  });
  const all = [...columns.children];
  const stop = all.find((button) => button.tabIndex === 0 && button === document.activeElement)
    ?? all.find((button) => button.dataset.ticker === pick) ?? all[0];
  for (const button of all) button.tabIndex = button === stop ? 0 : -1;
}

function walk(columns, press) {
  const all = [...columns.children];
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[press.key];
  if (to === undefined || at < 0) return;
  press.preventDefault();
  const next = all[Math.max(0, Math.min(all.length - 1, to))];
  for (const button of all) button.tabIndex = button === next ? 0 : -1;
  next.focus();
}

const best = (rung, side) => {
  const prices = rung.orders.filter((order) => order.side === side).map((order) => order.price);
  if (!prices.length) return null;
  return side === "bid" ? Math.max(...prices) : Math.min(...prices);
};

export function inWords(rung, event) {
  const unit = unitOf(event);
  const parts = [`${rungName(rung, event)}${unit ? ` ${unit}` : ""}`];
  parts.push(rung.fair_cents === null ? "fair value not known"
    : `fair ${cents(rung.fair_cents)}${rung.fair_sd_cents === null ? ""
      : ` plus or minus ${cents(rung.fair_sd_cents)}`}`);
  const quote = (price, text) => price === null ? `no ${text}` : `${text} ${price}`;
  parts.push(quote(best(rung, "bid"), "own bid"), quote(best(rung, "ask"), "own ask"));
  parts.push(`others ${rung.bids[0]?.[0] ?? "none"} to ${rung.asks[0]?.[0] ?? "none"}`);
  parts.push(`held ${net(rung.yes_qty - rung.no_qty)}`, `${rung.orders.length} orders`);
  if (rung.blocked) parts.push(`not quoted: ${rung.blocked}`);
  return parts.join(", ");
}

// --- the drawing ---------------------------------------------------------------------------------

function paint(drawing, event, width, pick) {
  drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  drawing.setAttribute("width", width);
  drawing.setAttribute("height", HEIGHT);
  const rungs = event.rungs;
  const step = (width - LEFT - RIGHT) / Math.max(1, rungs.length);
  const place = { width, step, half: Math.min(30, step * 0.38),
    x: (index) => LEFT + step * (index + 0.5) };
  const parts = [];
  rungs.forEach((rung, index) => {
    if (rung.ticker === pick || rung.blocked) {
      parts.push(shape("rect", { class: rung.ticker === pick ? "picked" : "shut",
        x: place.x(index) - step / 2 + 1, y: 2, width: step - 2, height: HEIGHT - 4, rx: 4 }));
    }
  });
  prices(parts, rungs, place);
  near(parts, rungs, place);
  held(parts, rungs, place, event);
  drawing.replaceChildren(...parts);
}

function line(parts, cls, x1, y1, x2, y2) {
  parts.push(shape("line", { class: cls, x1, y1, x2, y2 }));
}

function words(parts, text, x, y, cls = "", anchor = "start") {
  parts.push(shape("text", { x, y, class: cls, "text-anchor": anchor }, text));
}

function prices(parts, rungs, place) {
  const y = (price) => PRICE.top + PRICE.height * (1 - price / 100);
  words(parts, "price, cents", LEFT, PRICE.top - 8, "head");
  for (const price of [0, 25, 50, 75, 100]) {
    line(parts, "grid", LEFT, y(price), place.width - RIGHT, y(price));
    words(parts, price, LEFT - 7, y(price) + 4, "", "end");
  }
  const known = rungs.map((rung, index) => [rung, index])
    .filter(([rung]) => rung.fair_cents !== null);
  const edge = (rung, sign) => y(Math.max(0, Math.min(100,
    rung.fair_cents + sign * 2 * (rung.fair_sd_cents ?? 0))));
  if (known.length > 1) {
    const upper = known.map(([rung, index]) => `${place.x(index)},${edge(rung, 1)}`);
    const lower = known.map(([rung, index]) => `${place.x(index)},${edge(rung, -1)}`).reverse();
    parts.push(shape("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  }
  rungs.forEach((rung, index) => {
    const x = place.x(index), thin = Math.min(5, place.half / 2);
    const [bid, ask] = [rung.bids[0]?.[0], rung.asks[0]?.[0]];
    if (bid !== undefined && ask !== undefined) {
      parts.push(shape("rect", { class: "range", x: x - thin, width: 2 * thin, y: y(ask),
        height: Math.max(0, y(bid) - y(ask)) }));
    }
    for (const price of [bid, ask]) {
      if (price !== undefined) line(parts, "touch", x - thin, y(price), x + thin, y(price));
    }
    for (const side of ["bid", "ask"]) {
      const price = best(rung, side);
      const from = side === "bid" ? x - place.half : x + place.half;
      const to = side === "bid" ? x - thin - 1 : x + thin + 1;
      if (price !== null) line(parts, `own ${side}`, from, y(price), to, y(price));
    }
  });
  if (known.length > 1) {
    parts.push(shape("polyline", { class: "fair",
      points: known.map(([rung, index]) => `${place.x(index)},${y(rung.fair_cents)}`).join(" ") }));
  }
  for (const [rung, index] of known) {
    parts.push(shape("circle", { class: "fair-dot", cx: place.x(index), cy: y(rung.fair_cents),
      r: 2.5 }));
  }
}

// Where distances are counted from: the fair value, else the middle of what others show.
function middle(rung) {
  if (rung.fair_cents !== null) return rung.fair_cents;
  const [bid, ask] = [rung.bids[0]?.[0], rung.asks[0]?.[0]];
  return bid === undefined || ask === undefined ? null : (bid + ask) / 2;
}

function near(parts, rungs, place) {
  const far = rungs.flatMap((rung) => {
    const from = middle(rung);
    if (from === null) return [];
    const seen = [...rung.orders.map((order) => order.price), rung.bids[0]?.[0], rung.asks[0]?.[0]];
    return seen.filter((price) => price !== undefined).map((price) => Math.abs(price - from));
  });
  const most = Math.max(NEAR_MIN, Math.min(NEAR_MAX, Math.ceil(Math.max(0, ...far) + 0.5)));
  const zero = NEAR.top + NEAR.height / 2;
  const scale = NEAR.height / 2 / most;
  const y = (distance) => zero - scale * Math.max(-most, Math.min(most, distance));
  words(parts, "cents from fair", LEFT, NEAR.top - 10, "head");
  const by = most <= 6 ? 2 : most <= 12 ? 4 : 5;
  for (let mark = -Math.floor(most / by) * by; mark <= most; mark += by) {
    line(parts, mark === 0 ? "zero" : "grid", LEFT, y(mark), place.width - RIGHT, y(mark));
    words(parts, mark === 0 ? "fair" : net(mark), LEFT - 7, y(mark) + 4, "", "end");
  }
  const largest = Math.max(1, ...rungs.flatMap((rung) => [...levels(rung).values()]
    .map((level) => level.qty)));
  const tall = Math.max(3, Math.min(8, scale * 0.72));
  rungs.forEach((rung, index) => {
    const from = middle(rung), x = place.x(index), wide = place.half;
    if (from === null) return;
    if (rung.fair_sd_cents !== null) {
      const sd = 2 * rung.fair_sd_cents;
      parts.push(shape("rect", { class: "band", x: x - wide, width: 2 * wide, y: y(sd),
        height: y(-sd) - y(sd) }));
    }
    for (const [price] of [...rung.bids.slice(0, 1), ...rung.asks.slice(0, 1)]) {
      line(parts, "touch", x - wide, y(price - from), x + wide, y(price - from));
    }
    for (const level of levels(rung).values()) {
      const long = Math.max(3, (wide - 2) * Math.sqrt(level.qty / largest));
      parts.push(shape("rect", { class: `order ${level.side}${level.sure ? "" : " unsure"}`,
        x: level.side === "bid" ? x - 1 - long : x + 1, width: long,
        y: y(level.price - from) - tall / 2, height: tall, rx: 1 }));
    }
  });
}

// Own orders of a rung, those at one price together. sure: nothing about them is on its way.
function levels(rung) {
  const found = new Map();
  for (const order of rung.orders) {
    const key = `${order.side} ${order.price}`;
    const level = found.get(key) ?? { side: order.side, price: order.price, qty: 0, sure: true };
    level.qty += order.remaining_qty;
    level.sure &&= order.state === "open";
    found.set(key, level);
  }
  return found;
}

function held(parts, rungs, place, event) {
  const nets = rungs.map((rung) => rung.yes_qty - rung.no_qty);
  const largest = Math.max(1, ...nets.map(Math.abs));
  const zero = HELD.top + HELD.height / 2;
  words(parts, "held, YES less NO shares", LEFT, HELD.top - 16, "head");
  line(parts, "grid", LEFT, zero, place.width - RIGHT, zero);
  const names = rungs.map((rung) => rungName(rung, event));
  const longest = Math.max(...names.map((each) => each.length));
  const every = Math.ceil((LETTER * longest + 4) / place.step);
  rungs.forEach((rung, index) => {
    const x = place.x(index), tall = HELD.height / 2 * Math.abs(nets[index]) / largest;
    if (nets[index] !== 0) {
      const wide = Math.min(14, place.half);
      parts.push(shape("rect", { class: "hold", x: x - wide, width: 2 * wide, height: tall,
        y: nets[index] > 0 ? zero - tall : zero, rx: 1 }));
      words(parts, net(nets[index]), x, nets[index] > 0 ? zero - tall - 4 : zero + tall + 12,
        "count", "middle");
    }
    if (index % every === 0) {
      words(parts, names[index], x, HEIGHT - 8, "strike", "middle");
    }
  });
}

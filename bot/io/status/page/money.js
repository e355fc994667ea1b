// Profit over time by its sources, fills with their markouts, and the same by rung, side and reason.

import { byId, keyed, node, say, shape, table } from "./dom.js";
import { DASH, cents, clock, dollars, gained, income, percent, plainName, span, tone, whole,
  wholeCents } from "./words.js";

const HORIZONS = [1, 10, 60, 300];
// name, its place in a sample, what it is.
const SOURCES = [
  ["spread", 2, "captured by trading away from fair"],
  ["adverse", 3, "moves within ten seconds of a fill"],
  ["drift", 4, "later moves of what is held"],
  ["fees", 5, "paid"],
  ["total", 1, "the sum"],
];
const NAMES = { spread: "spread captured", adverse: "adverse selection", drift: "inventory drift",
  fees: "fees", total: "profit" };
// Whole cents that add up: the rest that rounding leaves, two cents at most, is in the drift.
function addingUp(millicents, fees) {
  const [total, spread, adverse] = millicents.map(wholeCents);
  return { spread, adverse, drift: total - spread - adverse + fees, fees: -fees, total };
}
const shownOf = (row) => addingUp([row.profit_millicents, row.spread_millicents,
  row.adverse_millicents], row.fees_cents);
const inMillicents = (moment, kind, place) => kind === "fees" ? -1000 * moment[place] : moment[place];

let history = [];
const drawing = shape("svg", { role: "img", "aria-label": "Profit over time: nothing yet" });
byId("profit-chart").append(drawing);
const sources = table("Since the books were opened", [{ head: "source" }, { head: "dollars" },
  { head: "what it is", words: true }]);
byId("profit-table").append(sources.element);
const markouts = table("Markouts by side", [{ head: "fills of" }, { head: "fills" },
  { head: "shares" }, ...HORIZONS.map((s) => ({ head: `${s} s` }))], { empty: "No fill yet." });
byId("markouts").append(markouts.element);
const fills = table("Last fills", [{ head: "time" }, { head: "rung" }, { head: "side" },
  { head: "price" }, { head: "shares" }, { head: "fair" }, { head: "edge" }, { head: "fee" },
  ...HORIZONS.map((s) => ({ head: `${s} s` })), { head: "order", words: true }],
{ empty: "No fill yet." });
fills.element.classList.add("tall");
byId("fills").append(fills.element);
new ResizeObserver(paint).observe(byId("profit-chart"));

export function takeHistory(moments) {
  history = moments;
  paint();
}

// --- the chart -----------------------------------------------------------------------------------

const HEIGHT = 210, LEFT = 52, RIGHT = 78, TOP = 10, BOTTOM = 24;

function paint() {
  const width = byId("profit-chart").clientWidth;
  if (!width || history.length < 2) return;
  drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  drawing.setAttribute("width", width);
  drawing.setAttribute("height", HEIGHT);
  const all = history.flatMap((moment) => SOURCES.map(([kind, place]) =>
    inMillicents(moment, kind, place)));
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const by = stepFor((high - low) / 4);
  const [bottom, top] = [Math.floor(low / by) * by, Math.max(by, Math.ceil(high / by) * by)];
  const from = history[0][0], to = history.at(-1)[0];
  const x = (at) => LEFT + (width - LEFT - RIGHT) * (at - from) / Math.max(1, to - from);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / (top - bottom);
  const parts = [];
  for (let mark = bottom; mark <= top + by / 2; mark += by) {
    parts.push(shape("line", { class: Math.abs(mark) < by / 2 ? "zero" : "grid", x1: LEFT,
      x2: width - RIGHT, y1: y(mark), y2: y(mark) }));
    parts.push(shape("text", { x: LEFT - 7, y: y(mark) + 4, "text-anchor": "end" },
      dollars(Math.round(mark / 1000))));
  }
  parts.push(shape("text", { x: LEFT, y: HEIGHT - 5 }, clock(from)));
  parts.push(shape("text", { x: width - RIGHT, y: HEIGHT - 5, "text-anchor": "end" }, clock(to)));
  const ends = [];
  for (const [kind, place] of SOURCES) {
    const points = history.map((moment) => `${x(moment[0]).toFixed(1)},`
      + y(inMillicents(moment, kind, place)).toFixed(1));
    parts.push(shape("polyline", { class: `source ${kind}`, points: points.join(" ") }));
    ends.push([kind, y(inMillicents(history.at(-1), kind, place))]);
  }
  for (const [kind, at] of apart(ends)) {
    parts.push(shape("text", { x: width - RIGHT + 6, y: at + 4, class: `label ${kind}` }, kind));
  }
  drawing.replaceChildren(...parts);
  const last = history.at(-1);
  const shown = addingUp(last.slice(1, 4), last[5]);
  drawing.setAttribute("aria-label", `Profit by source from ${clock(from)} to ${clock(to)}: `
    + SOURCES.map(([kind]) => `${NAMES[kind]} ${dollars(shown[kind])}`).join(", "));
}

// A step of 1, 2 or 5 times a power of ten that is no smaller; at least a cent.
function stepFor(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1000, least)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least) ?? power * 10;
}

// Labels pushed apart so that each can be read.
function apart(ends) {
  const sorted = [...ends].sort((one, other) => one[1] - other[1]);
  let floor = TOP;
  const placed = sorted.map(([kind, at]) => {
    floor = Math.max(at, floor);
    const here = floor;
    floor += 14;
    return [kind, here];
  });
  const over = floor - 14 - (HEIGHT - BOTTOM);
  return over > 0 ? placed.map(([kind, at]) => [kind, at - over]) : placed;
}

// --- tables --------------------------------------------------------------------------------------

// With half its 95 % interval.
const markoutOf = (row, horizon) => {
  const found = row.markouts.find((each) => each.against === "fair" && each.horizon_s === horizon);
  if (!found) return DASH;
  const { text, className } = toned(found.mean_cents);
  return { className, text: text + (found.error_cents === null ? ""
    : ` ± ${(1.96 * found.error_cents).toFixed(2)}`) };
};
const rowsOf = (profit) => [profit.total, ...(profit.by.side ?? [])];

export function drawMoney(report) {
  const profit = report.profit;
  if (profit) {
    const total = profit.total, amount = shownOf(total);
    const [realised, settled] = [profit.realised_millicents, profit.settled_millicents]
      .map(wholeCents);
    const open = amount.total - amount.fees - realised - settled;
    say(byId("profit-line"), `realised ${dollars(realised)} · settled ${dollars(settled)} · open `
      + `${dollars(open)} · before fees`);
    sources.update(SOURCES.map(([kind, , text]) => ({ key: kind,
      className: kind === "total" ? "sum" : "", cells: [
        { text: NAMES[kind], className: `source-name ${kind}` }, income(amount[kind]), text] })));
    markouts.update(total.fills ? rowsOf(profit).map((row) => ({ key: row.name, cells: [
      row.name === "total" ? "both sides" : `${row.name}s`, whole(row.fills), whole(row.qty),
      ...HORIZONS.map((horizon) => markoutOf(row, horizon))] })) : []);
    breakdown(profit);
  }
  fills.update((report.fills ?? []).map((fill, index, every) => fillRow(fill, every.length - index,
    report)));
}

function fillRow(fill, place, report) {
  const sign = fill.side === "bid" ? 1 : -1;
  return { key: `${fill.at_ns} ${fill.ticker} ${fill.side} ${fill.price} ${fill.qty} ${place}`,
    cells: [clock(fill.at_ns), shortTicker(fill.ticker, report),
      { text: fill.side, className: fill.side }, fill.price, whole(fill.qty),
      cents(fill.fair_cents), toned(sign * (fill.fair_cents - fill.price)), dollars(fill.fee_cents),
      ...fill.markouts_cents.map(toned), fill.reason] };
}

const toned = (value) => ({ text: gained(value),
  className: value === null || Math.abs(value) < 0.005 ? "soft" : tone(value) });

function shortTicker(ticker, report) {
  const event = report.events.find((each) => ticker.startsWith(`${each.event_ticker}-`));
  if (!event) return ticker;
  const many = report.events.length > 1;
  const quarter = event.event_ticker.slice(report.series_ticker.length + 1);
  const rest = ticker.slice(event.event_ticker.length + 1);
  return many && quarter ? `${quarter} ${rest}` : rest;
}

const COLUMNS = [{ head: "fills" }, { head: "shares" }, { head: "profit" }, { head: "spread" },
  { head: "adverse" }, { head: "drift" }, { head: "fees" },
  ...HORIZONS.map((s) => ({ head: `${s} s` }))];
function cellsOf(row) {
  const { total, spread, adverse, drift } = shownOf(row);
  return [whole(row.fills), whole(row.qty), ...[total, spread, adverse, drift].map(income),
    dollars(row.fees_cents), ...HORIZONS.map((horizon) => markoutOf(row, horizon))];
}

function breakdown(profit) {
  keyed(byId("breakdown"), Object.entries(profit.by), ([by]) => by, ([by]) => {
    const drawn = table(`Profit by ${by}`, [{ head: by }, ...COLUMNS]);
    const made = node("details", {}, node("summary", { text: `Profit by ${by}` }), drawn.element);
    made.drawn = drawn;
    return made;
  }, (details, [, rows]) => details.drawn.update(rows.map((row) => ({ key: row.name,
    cells: [row.name, ...cellsOf(row)] }))));
}

const shadows = table("Candidates", [{ head: "candidate" }, { head: "queue" }, { head: "asked" },
  { head: "as live", title: "decisions after which its best prices were ours, to a tick" },
  ...COLUMNS, { head: "stopped", words: true }]);
byId("shadows").append(shadows.element);

export function drawShadows(report) {
  byId("shadow-panel").hidden = !report.shadows.length;
  shadows.update(report.shadows.map((shadow) => ({ key: `${shadow.name} ${shadow.bound}`, cells: [
    `${shadow.name} (${plainName(shadow.strategy)})`, shadow.bound, whole(shadow.decisions),
    shadow.decisions ? percent(shadow.same / shadow.decisions, 0) : DASH,
    ...cellsOf(shadow.profit.total), shadow.stopped] })));
}

export const upFor = (report) => span(report.now_ns - report.started_ns);

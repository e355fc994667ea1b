// What may be sent, what is heard, how near the limits are, and what was said: budget, feed, log.

import { byId, gauge, keyed, node, pairs, say } from "./dom.js";
import { DASH, dollars, inUnit, limitName, percent, plainName, rungName, span, tone, whole }
  from "./words.js";

const LINES_MAX = 200, ALERTS_MAX = 50;

// --- figures -------------------------------------------------------------------------------------

export function drawFigures(report) {
  const counters = report.counters;
  const off = report.ledger_difference_cents;
  pairs(byId("figures"), [
    { name: "profit", value: dollars(report.pnl_cents),
      className: tone(report.pnl_cents) },
    { name: "worst case", value: dollars(report.worst_case_cents),
      title: "the most that may be lost: every subset of fills of all that may be live counted" },
    { name: "of its limit", value: percent(report.worst_case_cents
      / Math.max(1, report.worst_case_limit_cents), 0) },
    { name: "fills", value: whole(counters.fills) },
    { name: "orders resting", value: whole(report.resting) },
    { name: "orders unknown", value: whole(report.unknown_open),
      className: report.unknown_open ? "bad" : "" },
    { name: "cash free", value: dollars(report.cash_available_cents) },
    { name: "cash off by", value: dollars(off), className: off ? "bad" : "",
      title: "the venue's cash less ours" },
    ...(report.transfers_cents ? [{ name: "transfers", value: dollars(report.transfers_cents) }] : []),
    ...(report.unallocated_cents ? [{ name: "unallocated settlements",
      value: dollars(report.unallocated_cents), className: "bad" }] : []),
  ]);
}

export function drawFindings(report) {
  const texts = report.findings;
  byId("findings").hidden = texts.length === 0;
  keyed(byId("finding-list"), texts, (text) => text.split(":")[0], () => node("li"), say);
}

// --- budget and feed -----------------------------------------------------------------------------

const budgetGauge = node("div", { className: "gauge" });
const budgetPairs = node("dl", { className: "pairs" });
byId("budget").append(budgetGauge, budgetPairs);
const feedPairs = node("dl", { className: "pairs" });
byId("feed").append(feedPairs);

export function drawBudget(report) {
  const budget = report.budget, counters = report.counters;
  if (budget) {
    gauge(budgetGauge, { used: budget.tokens, limit: budget.burst, label: "Tokens left",
      mark: budget.reserve / Math.max(1, budget.burst),
      text: `${budget.tokens} of ${budget.burst} tokens, ${budget.reserve} kept for cancels, `
        + `${budget.rate_per_second} more a second` });
  }
  const sent = Object.values(counters.requests).reduce((sum, count) => sum + count, 0);
  const amends = counters.amends_kept_place + counters.amends_lost_place;
  const refused = Object.entries(counters.refused);
  pairs(budgetPairs, [
    { name: "time to flat", value: span(report.flat_ns),
      title: "to cancel everything with the tokens there are" },
    { name: "in flight", value: whole(report.in_flight) },
    { name: "told to wait", value: budget && budget.waits_ns ? span(budget.waits_ns) : "no",
      className: budget && budget.waits_ns ? "bad" : "" },
    { name: "sent", value: `${whole(sent)} (${Object.entries(counters.requests)
      .map(([kind, count]) => `${kind} ${whole(count)}`).join(", ")})` },
    { name: "amends that kept place", value: `${whole(counters.amends_kept_place)} of `
      + whole(amends) },
    { name: "refused", value: refused.length ? refused.map(([code, count]) =>
      `${plainName(code)} ${whole(count)}`).join(", ") : "none" },
  ]);
}

let before = null;

export function drawFeed(report) {
  const counters = report.counters, now_ns = report.now_ns;
  // Rates are taken over at least five seconds, or they flicker.
  if (!before || report.started_ns !== before.started_ns) {
    before = { started_ns: report.started_ns, marks: [] };
  }
  before.marks.push([now_ns, counters.frames, counters.decisions]);
  while (before.marks.length > 2 && now_ns - before.marks[1][0] > 5e9) before.marks.shift();
  const [then_ns, frames, decisions] = before.marks[0];
  const rate = (count) => now_ns > then_ns ? `${(count / ((now_ns - then_ns) / 1e9)).toFixed(1)} a second`
    : DASH;
  const rungs = report.events.flatMap((event) => event.rungs.map((rung) => [rung, event]));
  const ages = rungs.map(([rung]) => rung.book_age_ns).filter((age) => age !== null);
  const blocked = rungs.filter(([rung]) => rung.blocked);
  const silent = report.feed_heard_ns === null
    || now_ns - report.feed_heard_ns > report.feed_silent_after_ns;
  pairs(feedPairs, [
    { name: "channel heard", className: silent ? "bad" : "",
      value: report.feed_heard_ns === null ? "not yet" : `${span(now_ns - report.feed_heard_ns)} ago` },
    { name: "frames", value: `${whole(counters.frames)}, ${rate(counters.frames - frames)}` },
    { name: "garbled", value: whole(counters.frames_garbled),
      className: counters.frames_garbled ? "bad" : "" },
    { name: "decisions", value: rate(counters.decisions - decisions) },
    { name: "oldest book", value: ages.length ? span(Math.max(...ages)) : DASH },
    { name: "rungs quotable", value: `${rungs.length - blocked.length} of ${rungs.length}`,
      className: blocked.length ? "bad" : "" },
    { name: "not quotable", value: blocked.length ? blocked.map(([rung, event]) =>
      `${rungName(rung, event)}: ${rung.blocked}`).join("; ") : "none" },
  ]);
}

// --- limits --------------------------------------------------------------------------------------

export function drawLimits(report) {
  const rows = [
    { key: "series", where: "series", name: "worst_case_cents", used: report.worst_case_cents,
      limit: report.worst_case_limit_cents },
    ...report.events.flatMap((event) => (event.limits ?? []).map((each) => ({ ...each,
      key: `${event.event_ticker} ${each.name}`, where: event.event_ticker }))),
    ...(report.loss_budgets ?? []).map((each) => ({ ...each, key: `budget ${each.period}`,
      where: each.raises.length ? "loss budget, raised" : "loss budget",
      name: `${each.period}_cents`, used: each.lost_cents, limit: each.limit_cents })),
    ...report.breakers.map((each) => ({ ...each, key: `breaker ${each.name}`, where: "breaker" })),
  ];
  keyed(byId("limits"), rows, (row) => row.key,
    (row) => node("div", { className: "gauge" }), (box, row) => {
      const part = gauge(box, { used: row.used, limit: row.limit,
        label: `${row.where}, ${limitName(row.name)}`,
        text: `${limitName(row.name)} · ${inUnit(row.name, row.used)} of `
          + `${inUnit(row.name, row.limit)} · ${row.where}` });
      box.classList.toggle("near", part >= 0.8);
    });
}

// --- log -----------------------------------------------------------------------------------------

let lines = [], alerts = [];

export function forgetLog() {
  lines = [];
  alerts = [];
}

export function takeLog(told) {
  const newest = (kept, come, most) => {
    const from = kept.length ? kept.at(-1).number : 0;
    return [...kept, ...come.filter((line) => line.number > from)].slice(-most);
  };
  lines = newest(lines, told.lines, LINES_MAX);
  alerts = newest(alerts, told.alerts, ALERTS_MAX);
  write(byId("log"), lines, "Nothing was logged.");
  write(byId("alerts"), alerts, "No warning and no error.");
}

function write(box, kept, empty) {
  const shown = kept.length ? [...kept].reverse() : [{ number: 0, at: "", level: "", name: empty,
    text: "" }];
  keyed(box, shown, (line) => line.number, (line) => node("p", { className: `line ${line.level}` },
    node("time", { text: when(line.at) }), node("b", { text: line.name }),
    node("span", { text: line.text })), () => {});
}

function when(at) {
  const read = new Date(at);
  return Number.isNaN(read.getTime()) ? "" : read.toLocaleTimeString("en-GB");
}

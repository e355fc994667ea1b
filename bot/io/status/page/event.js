// One event: its ladder, its rungs and outcomes as tables, and every order with why it stands.

import { node, say, table } from "./dom.js";
import { inWords, ladderPicture } from "./ladder.js";
import { DASH, cents, dollars, income, net, percent, plainName, rungName, span, unitOf, whole }
  from "./words.js";

const own = (rung, side) => {
  const prices = rung.orders.filter((order) => order.side === side).map((order) => order.price);
  if (!prices.length) return DASH;
  return side === "bid" ? Math.max(...prices) : Math.min(...prices);
};

export function eventPanel(event) {
  const id = `event-${event.event_ticker}`;
  const head = node("h2", { id, text: event.event_ticker });
  const line = node("p", { className: "soft" });
  const implied = node("p", { className: "soft" });
  const picked = node("p", { className: "picked-line" });
  let pick = null, last = event;
  const choose = (ticker) => {
    pick = pick === ticker ? null : ticker;
    draw(last);
  };
  const all = node("button", { type: "button", text: "Show all rungs", className: "small" });
  all.addEventListener("click", () => choose(pick));
  const picture = ladderPicture(event.event_ticker, choose);
  const rungs = table("Rungs", [{ head: "rung" }, { head: "bid", title: "our best bid" },
    { head: "ask", title: "our best ask" }, { head: "others" }, { head: "fair" },
    { head: "±", title: "standard deviation" }, { head: "held", title: "YES less NO" },
    { head: "book", title: "since the book was confirmed" }]);
  const outcomes = table("Outcomes", [{ head: "the value ends" }, { head: "chance" },
    { head: "profit" }]);
  const orders = table("Orders", [{ head: "rung" }, { head: "side" }, { head: "price" },
    { head: "left" }, { head: "filled" }, { head: "ahead", title: "shares likely before it" },
    { head: "age" }, { head: "why it stands there", words: true }],
  { stack: true, empty: "No order of ours." });
  orders.element.classList.add("tall");
  const element = node("section", { className: "panel", "aria-labelledby": id,
    "data-event": event.event_ticker }, head, line, picture.element,
  node("div", { className: "pick" }, picked, all), node("div", { className: "pair" },
    rungs.element, outcomes.element), implied, orders.element);

  // Once without the tables, so that the picture is there first.
  function draw(now, whole = true) {
    last = now;
    const rung = now.rungs.find((each) => each.ticker === pick);
    if (!rung) pick = null;
    say(line, about(now));
    picture.update(now, pick);
    if (!whole) return;
    say(implied, impliedLine(now));
    implied.hidden = !implied.textContent;
    say(picked, rung ? inWords(rung, now) : "Choose a rung in the picture to see its orders alone.");
    all.hidden = !rung;
    const unit = unitOf(now);
    rungs.caption(`Rungs${unit ? `, strikes in ${unit}` : ""}, prices in cents`);
    rungs.update(now.rungs.map((each) => rungRow(each, now, pick)));
    outcomes.caption("Profit in each outcome if nothing more fills");
    outcomes.update(outcomeRows(now));
    const shown = rung ? [rung] : now.rungs;
    const rows = shown.flatMap((each) => orderRows(each, now));
    orders.caption(`${rows.length} orders of ours ${rung ? `at ${rungName(rung, now)}`
      : "on all rungs"}`);
    orders.update(rows);
  }
  return { element, update: draw };
}

function about(event) {
  const parts = [event.title, event.status, `worst case over every subset of fills `
    + dollars(event.worst_case_cents)];
  for (const each of event.restrictions || []) {
    const width = each.width_pct > 100 ? `, width ${each.width_pct} %` : "";
    parts.push(`${plainName(each.state)} (${plainName(each.source)}${width}): ${each.why}; `
      + `ends: ${each.ends}`);
  }
  if (event.strategy_fault) parts.push(`strategy: ${event.strategy_fault}`);
  const said = Object.entries(event.diagnostics || {});
  if (said.length) {
    const numbers = said.map(([name, value]) => `${name} ${Number(value.toPrecision(5))}`);
    parts.push(`strategy says ${numbers.join(", ")}`);
  }
  return parts.join(" · ");
}

const amount = (value) => value === null ? "outside the strikes"
  : value.toLocaleString("en", { maximumSignificantDigits: 4, notation: "compact" });

function outsideLine(row) {
  const said = row.unit === "chance" ? percent : (value) => `$${amount(value)}`;
  const market = row.market === null ? "" : `, market ${said(row.market)}`;
  return `${row.source} about ${row.about}: ${said(row.value)} ± ${said(row.sd)}, weight `
    + `${row.weight}, ${span(row.age_ns)} old, ${span(row.left_ns)} left${market}: `
    + (row.unused || "used");
}

function impliedLine(event) {
  const parts = event.implied ? [`Implied value: median ${amount(event.implied.median)}, `
    + `10 % below ${amount(event.implied.low)}, 10 % above ${amount(event.implied.high)}`] : [];
  for (const row of event.outside_values || []) parts.push(outsideLine(row));
  for (const alarm of event.alarms) parts.push(`${plainName(alarm.kind)}: ${alarm.text}`);
  return parts.join(" · ");
}

function rungRow(rung, event, pick) {
  const touch = (levels) => levels.length ? levels[0][0] : DASH;
  const held = rung.yes_qty - rung.no_qty;
  return { key: rung.ticker, className: rung.ticker === pick ? "picked" : "", cells: [
    rungName(rung, event),
    { text: own(rung, "bid"), className: "bid" },
    { text: own(rung, "ask"), className: "ask" },
    `${touch(rung.bids)} / ${touch(rung.asks)}`,
    cents(rung.fair_cents), cents(rung.fair_sd_cents),
    { text: net(held), className: held ? "hold" : "soft" },
    rung.blocked ? { text: rung.blocked, className: "bad blocked" } : span(rung.book_age_ns),
  ] };
}

function outcomeRows(event) {
  const worst = Math.min(...event.outcome_cents);
  const isWorst = (profit) => profit === worst && worst < Math.max(...event.outcome_cents);
  const most = Math.max(1, ...event.outcome_cents.map(Math.abs));
  const strikes = event.rungs.map((rung) => rungName(rung, event));
  const where = (index) => index === 0 ? `below ${strikes[0]}`
    : index === strikes.length ? `${strikes[index - 1]} or more`
    : `${strikes[index - 1]} to ${strikes[index]}`;
  return event.outcome_cents.map((profit, index) => ({ key: index,
    className: isWorst(profit) ? "worst" : "", cells: [
      where(index) + (isWorst(profit) ? " · worst" : ""),
      event.implied ? percent(event.implied.chances[index]) : DASH,
      { ...income(profit), bar: profit / most }] }));
}

function orderRows(rung, event) {
  const sorted = [...rung.orders].sort((one, other) => other.price - one.price
    || other.age_ns - one.age_ns);
  return sorted.map((order) => ({ key: order.client_order_id || order.order_id,
    className: order.state === "open" ? "" : "moving", cells: [
      rungName(rung, event),
      { text: order.side, className: order.side },
      order.price, whole(order.remaining_qty), whole(order.filled_qty), ahead(order),
      span(order.age_ns), reason(order)] }));
}

// The likely number of shares before an order, with its bounds where they are apart.
function ahead(order) {
  if (order.ahead_qty === null || order.ahead_qty === undefined) return DASH;
  const [least, most] = [Math.round(order.ahead_at_least), Math.round(order.ahead_at_most)];
  const likely = Math.round(order.ahead_qty);
  return least === most ? whole(likely) : `${likely} (${least}–${most})`;
}

function reason(order) {
  const route = order.own_side === "sell" ? `sells ${order.outcome} held` : "";
  return [order.reason || order.why, route].filter(Boolean).join("; ");
}

// What is held may lose, by the chances of the fair curve: each event, and a company's together.

import { byId, table } from "./dom.js";
import { DASH, dollars, income, percent } from "./words.js";

const held = table("Risk of what is held", [{ head: "of", words: true }, { head: "expected" },
  { head: "ES 95 %", title: "expected shortfall: mean loss of the worst 5 % of chance" },
  { head: "ES 99 %", title: "expected shortfall: mean loss of the worst 1 % of chance" },
  { head: "over limit", title: "chance of a loss above the event's loss limit; the series' for all" }]);
byId("risk").append(held.element);

export function drawRisk(report) {
  const companies = report.companies ?? [];
  held.update([
    ...report.events.map((event) => row(event.event_ticker, event.event_ticker, event.risk)),
    ...companies.map((each) => row(`company ${each.events[0]}`,
      `${each.events.length} together, correlation ${each.correlation}`, each.risk)),
  ]);
}

function row(key, of, risk) {
  if (!risk) return { key, cells: [of, DASH, DASH, DASH, DASH] };
  return { key, cells: [of, income(risk.expected_cents), dollars(risk.shortfall_95_cents),
    dollars(risk.shortfall_99_cents),
    percent(risk.over_limit_chance)] };
}

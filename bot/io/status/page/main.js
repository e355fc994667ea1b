// Listens to the stream and has every part of the page drawn from what it tells.

import { drawControls } from "./control.js";
import { byId, keyed, name, node, say } from "./dom.js";
import { eventPanel } from "./event.js";
import { drawBudget, drawFeed, drawFigures, drawFindings, drawLimits, forgetLog, takeLog }
  from "./health.js";
import { drawMoney, drawShadows, takeHistory, upFor } from "./money.js";
import { drawRisk } from "./risk.js";

const STALE_S = 3, SILENT_MS = 5000, AGAIN_MS = 2000;
let wanted = new URLSearchParams(location.search).get("series");
let stream = null, heardAt = 0, ageThen = null, announced = "", again = 0;

function draw(status) {
  heardAt = performance.now();
  ageThen = status.age_ms;
  choose(status.series ?? []);
  drawControls(status);
  const report = status.report;
  const phase = report ? report.phase : "starting";
  const state = status.state;
  say(byId("phase"), state);
  name(byId("phase"), `pill ${status.unhealthy ? "poor" : phase === "paused" || state !== phase
    ? "held" : "good"}`);
  const unhealthy = status.unhealthy && status.unhealthy !== phase ? status.unhealthy : "";
  say(byId("health"), [unhealthy, ...(status.restricted ?? []), status.idle, status.notice].filter(Boolean).join("; "));
  announce(`${state}. ${status.unhealthy}. ${report ? report.findings.join(". ") : ""}`, report);
  if (!report) return;
  say(byId("series"), report.series_ticker);
  byId("paper").hidden = !report.paper;
  document.title = `${report.paper ? "PAPER · " : ""}${state} · ${report.series_ticker}`;
  drawFindings(report);
  drawFigures(report);
  if (byId("events").hasChildNodes()) {
    drawEvents(report, true);
    drawRest(report);
    return;
  }
  // The pictures first; what is further down once they are seen.
  drawEvents(report, false);
  requestAnimationFrame(() => setTimeout(() => {
    performance.mark("picture-drawn");
    drawEvents(report, true);
    drawRest(report);
  }, 0));
}

function drawEvents(report, whole) {
  keyed(byId("events"), report.events, (event) => event.event_ticker, (event) => {
    const panel = eventPanel(event);
    panel.element.panel = panel;
    return panel.element;
  }, (element, event) => element.panel.update(event, whole));
}

function drawRest(report) {
  drawMoney(report);
  drawShadows(report);
  drawBudget(report);
  drawFeed(report);
  drawRisk(report);
  drawLimits(report);
  say(byId("uptime"), `running for ${upFor(report)}`);
}

// Told to screen readers only when what the bot does has changed, not with every picture.
function announce(text, report) {
  if (text === announced) return;
  if (announced && report) say(byId("told"), text);
  announced = text;
}

function choose(series) {
  byId("chooser-label").hidden = series.length < 2;
  keyed(byId("chooser"), series, (ticker) => ticker,
    (ticker) => node("option", { value: ticker, text: ticker }), () => {});
  if (series.length && document.activeElement !== byId("chooser")) {
    byId("chooser").value = wanted ?? series[0];
  }
}

byId("chooser").addEventListener("change", () => {
  wanted = byId("chooser").value;
  history.replaceState(null, "", `?series=${encodeURIComponent(wanted)}`);
  listen();
});

function showAge() {
  const silent_ms = performance.now() - heardAt;
  const age = ageThen === null ? null : (ageThen + silent_ms) / 1000;
  const stale = age === null || age > STALE_S;
  document.body.classList.toggle("stale", stale && heardAt > 0);
  if (age !== null) {
    say(byId("age"), stale ? `last decision ${Math.round(age)} s ago: not live`
      : `decided ${age.toFixed(1)} s ago`);
  }
  if (heardAt && silent_ms > SILENT_MS) {
    name(byId("phase"), "pill poor");
    say(byId("phase"), "no answer");
  }
  if (performance.now() > again && silent_ms > SILENT_MS) listen();
}

function listen() {
  again = performance.now() + SILENT_MS + AGAIN_MS;
  stream?.close();
  const query = wanted === null ? "" : `?series=${encodeURIComponent(wanted)}`;
  stream = new EventSource(`events${query}`);
  stream.addEventListener("open", forgetLog);
  stream.addEventListener("status", (told) => draw(JSON.parse(told.data)));
  stream.addEventListener("history", (told) => takeHistory(JSON.parse(told.data)));
  stream.addEventListener("log", (told) => takeLog(JSON.parse(told.data)));
}

// The page brings a first picture with it.
draw(JSON.parse(byId("first").textContent));
listen();
setInterval(showAge, 250);

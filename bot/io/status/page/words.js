// Numbers as people read them: dollars, cents, times. A dash stands for what is not known.

export const DASH = "–";
const SECOND = 1e9;
const known = (value) => value !== null && value !== undefined;
const signed = (value, text) => (value < 0 ? "−" : "") + text;

export function dollars(cents) {
  if (!known(cents)) return DASH;
  return signed(cents, "$" + (Math.abs(cents) / 100).toLocaleString("en", {
    minimumFractionDigits: 2, maximumFractionDigits: 2 }));
}

// The class of an amount of profit or loss: green or red.
export const tone = (value) => !known(value) || value === 0 ? "" : value < 0 ? "loss" : "gain";

// An amount of profit or loss in cents, as a cell.
export const income = (cents) => ({ text: dollars(cents), className: tone(cents) });

// Whole cents of thousandths, a half to the even one: as everywhere else.
export function wholeCents(millicents) {
  const below = Math.floor(millicents / 1000), rest = millicents - 1000 * below;
  return below + (rest > 500 || rest === 500 && below % 2 !== 0 ? 1 : 0);
}

export function cents(value, digits = 1) {
  return known(value) ? signed(Math.round(value * 10 ** digits), Math.abs(value).toFixed(digits))
    : DASH;
}

export function gained(value, digits = 2) {
  if (!known(value)) return DASH;
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

export const whole = (value) => known(value)
  ? signed(value, Math.abs(value).toLocaleString("en")) : DASH;

export function net(value) {
  return value === 0 ? "0" : (value > 0 ? "+" : "−") + Math.abs(value).toLocaleString("en");
}

export function span(ns) {
  if (!known(ns)) return DASH;
  const s = Math.max(0, ns) / SECOND;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export function clock(ns) {
  return new Date(ns / 1e6).toLocaleTimeString("en-GB");
}

export function percent(part, digits = 1) {
  return known(part) ? `${(100 * part).toFixed(digits)} %` : DASH;
}

// The short name of a rung: its strike without the unit, else what is special of its ticker.
export function rungName(rung, event) {
  const strike = rung.strike_text.split(" ")[0];
  if (strike) return strike;
  const prefix = `${event.event_ticker}-`;
  return rung.ticker.startsWith(prefix) ? rung.ticker.slice(prefix.length) : rung.ticker;
}

export function unitOf(event) {
  const texts = event.rungs.map((rung) => rung.strike_text).filter(Boolean);
  return texts.length ? texts[0].split(" ").slice(1).join(" ") : "";
}

export const plainName = (name) => name.replaceAll("_", " ");

// A value in the unit that its name ends in.
export function inUnit(name, value) {
  if (/_cents(_|$)/.test(name)) return dollars(value);
  return name.endsWith("_ns") ? span(value) : whole(value);
}

// The name of a limit without the unit that its value shows.
export const limitName = (name) => plainName(name.replace(/_(ns|cents|qty)(?=_|$)/g, ""));

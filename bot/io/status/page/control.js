// Asks for a token and a reason, once for each act, and sends what was confirmed.

import { byId, say } from "./dom.js";

const ACTS = {
  "pause": ["Pause", "Every quote is pulled and nothing new is placed until somebody resumes."],
  "resume": ["Resume", "Quotes are placed again, on both sides."],
  "flatten": ["Flatten", "Only what brings positions nearer to zero is quoted, until somebody "
    + "resumes. Positions are not thrown at the market."],
  "cancel-all": ["Cancel all", "Every order is cancelled, and nothing is placed until somebody "
    + "resumes."],
  "reset": ["Reset breaker", "The latch is taken away and quoting begins again, profit reckoned "
    + "anew. Look at the reason first."],
};
const DEFAULT_REASON = "asked on the status page";

let token = "", series = "", asked = null, asker = null;
const dialog = byId("ask");

export function drawControls(status) {
  byId("controls").hidden = !status.control;
  series = status.report ? status.report.series_ticker : "";
}

function open(action, button) {
  const [word, text] = ACTS[action];
  asked = action;
  asker = button;
  say(byId("ask-head"), `${word} ${series}?`);
  say(byId("ask-text"), text);
  say(byId("ask-yes"), word);
  say(byId("ask-fault"), "");
  byId("reason").value = DEFAULT_REASON;
  byId("token").value = "";
  byId("token-label").hidden = token !== "";
  dialog.showModal();
  (token ? byId("ask-no") : byId("token")).focus();
}

async function send() {
  const [word] = ACTS[asked];
  const reason = byId("reason").value.trim();
  if (!token) token = byId("token").value.trim();
  if (!token) return fault("The token is needed.", byId("token"));
  if (!reason) return fault("A reason is needed: it goes into the journal.", byId("reason"));
  byId("ask-yes").disabled = true;
  try {
    const answer = await fetch(`control/${asked}?series=${encodeURIComponent(series)}`, {
      method: "POST", cache: "no-store", signal: AbortSignal.timeout(5000),
      headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ reason }) });
    if (answer.status === 202) {
      dialog.close();
      say(byId("told"), `${word}: done`);
      return undefined;
    }
    const text = (await answer.text()).trim();
    if (answer.status === 401) {
      token = "";
      byId("token-label").hidden = false;
      return fault("That is not the token.", byId("token"));
    }
    return fault(`Not done: ${text}`, byId("ask-no"));
  } catch (trouble) {
    return fault(`No answer: ${trouble.message}. It may have been done; look at the page.`,
      byId("ask-no"));
  } finally {
    byId("ask-yes").disabled = false;
  }
}

function fault(text, where) {
  say(byId("ask-fault"), text);
  byId("ask-yes").disabled = false;
  where.focus();
}

for (const button of byId("controls").children) {
  button.addEventListener("click", () => open(button.dataset.action, button));
}
byId("ask-no").addEventListener("click", () => dialog.close());
byId("ask-yes").addEventListener("click", send);
for (const field of [byId("token"), byId("reason")]) {
  field.addEventListener("keydown", (press) => {
    if (press.key === "Enter") {
      press.preventDefault();
      send();
    }
  });
}
dialog.addEventListener("close", () => {
  byId("token").value = "";
  asker?.focus();
});

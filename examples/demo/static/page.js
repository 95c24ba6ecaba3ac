// The page: one picture comes over server-sent events each time that something changed, and is drawn.

import { act, el, keep, once } from "/dom.js";
import { feishuMessage } from "/feishu.js";
import { slackEntry, slackModal } from "/slack.js";

const $ = (id) => document.getElementById(id);
let who = "wang";
let picture = null;
const visitor = () => who;

const source = new EventSource("/events");
source.onmessage = (event) => { setEnded(false); picture = JSON.parse(event.data); draw(); };
source.onerror = () => setEnded(true);
source.addEventListener("ended", () => { source.close(); setEnded(true); });

// When the demo is gone, nothing on the page can be pressed: it would go nowhere.
function setEnded(ended) {
  document.body.classList.toggle("ended", ended);
  for (const part of document.querySelectorAll("main, .who")) part.inert = ended;
  if (!ended) return;
  $("now").className = "now grey";
  $("hint").textContent = "The demo has ended.";
}

function draw() {
  const me = picture.visitors.find((each) => each.key === who);
  keep($("who"), picture.visitors.map((each) => ({ ...each, chosen: each.key === who })), personButton);
  drawChat($("feishu"), picture.feishu.filter((message) => !message.own || message.own === who).map((message) =>
    ({ key: message.message_id, created_at: message.created_at, card: message.card, remarks: message.remarks, text: message.text, own: message.own })),
    (message) => feishuMessage(message, visitor));
  drawChat($("slack"), picture.slack.filter((entry) => entry.only_for === undefined || entry.only_for === me.slack)
    .map((entry) => ({ key: entry.ts ?? entry.id, ...entry })), (entry) => slackEntry(entry, visitor));
  slackModal(picture.modals[who], visitor, picture.visitors);
  keep($("machines"), ["gateway", "agent", "executor"].map((key) => ({ key, ...picture[key] })), machine);
  keep($("asks"), picture.payments, payment);
  if ($("queue").textContent !== picture.queue) $("queue").textContent = picture.queue;
  drawList($("log"), picture.log.map((line, index) => ({ key: index, ...line })), logLine);
  drawList($("ledger"), picture.ledger.length ? picture.ledger.map((entry) => ({ key: `${entry.grant} ${entry.invoice}`, ...entry }))
    : [{ key: "none" }], ledgerLine);
  drawList($("trail"), picture.trail.map((line) => ({ key: line.seq, ...line })), trailLine);
  drawNow();
}

function drawChat(place, items, render) {
  if (!keep(place, items, render)) return;
  const newest = place.lastElementChild.getBoundingClientRect();
  const frame = place.getBoundingClientRect();
  // A card that is taller than its pane is read from its top: what is asked comes before the buttons.
  const top = newest.height > frame.height ? place.scrollTop + newest.top - frame.top - 8 : place.scrollHeight;
  place.scrollTo({ top, behavior: "smooth" });
}

function drawList(place, items, render) {
  if (keep(place, items, render)) place.scrollTop = place.scrollHeight;
}

function personButton(person) {
  const button = el("button", { type: "button", class: person.chosen ? "person chosen" : "person", "aria-pressed": person.chosen },
    el("b", {}, person.name), el("span", {}, person.role));
  button.addEventListener("click", () => { who = person.key; draw(); });
  return button;
}

// --- the machines -----------------------------------------------------------------------------------------------------

const MACHINES = { gateway: "Gateway", agent: "Agent", executor: "Executor" };

function machine(item) {
  const starting = item.running && item.answers === false;
  const kind = !item.running ? "dead" : starting ? "starting" : "alive";
  const deed = item.running ? "kill" : "start";
  const button = el("button", { type: "button", class: `deed ${deed}`, id: `${deed}-${item.key}` },
    item.running ? "kill -9" : "Start it");
  button.addEventListener("click", () => once(button, () => act({ act: deed, what: item.key })));
  return el("div", { class: `machine ${kind}` }, el("span", { class: "dot", "aria-hidden": "true" }),
    el("div", {}, el("b", {}, MACHINES[item.key]), el("small", {}, starting ? "starting…" : item.state.replace("running, ", ""))), button);
}

function payment(item) {
  const button = el("button", { type: "button", class: "ask", id: `ask-${item.key}` }, item.label, el("small", { lang: "zh" }, item.zh));
  button.addEventListener("click", () => once(button, () => act({ act: "ask", what: item.key })));
  return button;
}

const SPEAKERS = {
  started: "", user: "User", assistant: "Model", calls: "Calls", tool: "Answer", resumes: "Resumes", waits: "Waits",
  asked: "Asked", killed: "", error: "Error", holds: "Holds",
};

function logLine(line) {
  const speaker = SPEAKERS[line.who] ?? line.who;
  const what = line.who === "started" ? `▶ started, ${line.what}` : line.who === "killed" ? `✕ ${line.what}` : line.what;
  return el("li", { class: line.who }, speaker && el("b", {}, speaker), el("span", {}, what));
}

function ledgerLine(entry) {
  if (entry.key === "none") return el("p", { class: "empty" }, "Nothing was paid.");
  const grant = String(entry.grant);
  return el("div", { class: "paid" },
    el("b", {}, `${entry.amount.toLocaleString("en")} ${entry.currency}`), el("span", {}, entry.payee),
    el("small", { title: grant }, `${entry.receipt} · ${grant.startsWith("none") ? "allowed by a rule" : `grant ${grant.slice(0, 12)}…`}`));
}

function trailLine(line) {
  return el("li", { class: line.kind.replace(".", "-") }, el("time", {}, line.at),
    el("i", {}, line.request && `#${line.request}`), el("span", {}, line.what));
}

// --- where the newest request stands, in one line ----------------------------------------------------------------------

const STEPS = ["The agent asks", "On hold, cards sent", "A person decides", "It runs once, or not at all"];

function drawNow() {
  const newest = picture.trail.filter((line) => line.request).at(-1)?.request;
  const last = Math.max(0, ...picture.trail.map((line) => Number(line.request) || 0));
  const lines = picture.trail.filter((line) => line.request === String(last));
  const enforced = lines.some((line) => line.kind === "grant.claimed" && line.what.startsWith("The executor"));
  // A payment that a rule allowed is no request: if it is what happened last, it is what the banner speaks of.
  const allowed = picture.trail.findLastIndex((line) => line.kind === "call.allowed");
  const asked = picture.trail.findLastIndex((line) => line.kind === "request.created");
  const [done, end, hint, skipped = -1] = allowed > asked
    ? [4, "good", "A rule allowed this one: nobody was asked. The ledger says whether it is paid.", 2]
    : newest ? stand(new Set(lines.map((line) => line.kind)), enforced) : [0, "", "The agent is starting; its first payment comes in a moment."];
  $("hint").textContent = hint;
  $("now").className = `now ${end}`;
  keep($("steps"), STEPS.map((text, index) => ({ key: index, text, state: index === skipped ? "skipped" : index < done ? "done" : index === done ? "next" : "" })),
    (step) => el("li", { class: step.state }, step.text));
}

function stand(kinds, enforced) {
  const { gateway, agent, executor } = picture;
  const ends = {
    "execution.succeeded": [4, "good", "Paid, exactly once, exactly what was approved. Both cards are settled."],
    "request.denied": [4, "bad", "Denied. The agent was told no, and why. This one was not paid."],
    "request.expired": [4, "grey", "Nobody answered in time. Silence is not consent: this one was not paid.", 2],
    "request.undeliverable": [4, "grey", "Nobody could be reached: this one was not paid.", 2],
    "execution.reconciled": [4, "good", "The executor asked the bank: it was paid, once. The cards show the receipt."],
    "execution.unknown": [4, "bad", enforced
      ? `Whether it was paid is not known.${executor.running ? "" : " Start the executor:"} it asks the bank, and runs nothing twice.`
      : "The agent died while it was paying: the ledger tells, and it is never run again."],
  };
  for (const [kind, answer] of Object.entries(ends)) if (kinds.has(kind)) return answer;
  if (kinds.has("request.approved")) {
    if (!gateway.running) return [3, "good", "Approved, and the gateway was killed. Start it: the approval is safe."];
    if (enforced && executor.running) return [3, "good", "The bank has booked it and is slow to say so: kill -9 the executor, now!"];
    if (enforced) return [3, "wait", "The executor died in the middle. In ten seconds its time is over, and nobody knows what became of it."];
    if (!executor.running) return [3, "good", "Approved. Start what is dead: it pays, once."];
    return [3, "good", agent.running ? "Approved. Now it is paid." : "Approved while the agent is dead. Start the agent: it pays, once."];
  }
  if (!gateway.running) return [2, "wait", "The gateway is dead; the question is not lost. Start it, and decide."];
  if (!agent.running) return [2, "wait", "The agent is dead, its question still stands. Decide now, and start it afterwards."];
  if (!gateway.answers) return [2, "wait", "The gateway starts…"];
  return [2, "wait", "Press 批准 or Approve, 拒绝 or Deny. Or kill something first: nothing gets lost."];
}

// The page: one picture comes over server-sent events each time that something changed, and is drawn.

import { act, el, forget, keep, once } from "/dom.js";
import { followConsole, goTo, leaveConsole, openTab } from "/console.js";
import { feishuMessage } from "/feishu.js";
import { slackEntry, slackModal } from "/slack.js";
import { setWords, t } from "/words.js";

const $ = (id) => document.getElementById(id);
const LANGUAGES = { en: "EN", zh: "中文" };
const TAGS = { en: "en", zh: "zh-CN" };
let who = "wang";
let picture = null;
let spoken = "";
const visitor = () => who;

const source = new EventSource("/events");
source.onmessage = (event) => { setEnded(false); picture = JSON.parse(event.data); draw(); };
source.onerror = () => setEnded(true);
source.addEventListener("ended", () => { source.close(); setEnded(true); });
setInterval(() => { if (picture && !document.body.classList.contains("ended")) followConsole(picture, who); }, 1000);
$("console").addEventListener("goto", (event) => goTo(event.detail, picture, who));
$("console-inbox").addEventListener("click", () => goTo("/", picture, who));
$("console-newest").addEventListener("click", () => goTo(`/r/${picture.newest}`, picture, who));
$("console-tab").addEventListener("click", () => openTab(who));

// When the demo is gone, nothing on the page can be pressed: it would go nowhere.
function setEnded(ended) {
  leaveConsole(ended);
  document.body.classList.toggle("ended", ended);
  for (const part of document.querySelectorAll("main, .who, .speak")) part.inert = ended;
  if (!ended) return;
  $("now").className = "now grey";
  $("hint").textContent = t("ended");
}

function draw() {
  speak();
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
  followConsole(picture, who);
}

// One language at a time: the page's own words here; what the gateway says comes in it.
function speak() {
  setWords(picture.words);
  keep($("speak"), Object.keys(LANGUAGES).map((key) => ({ key, chosen: key === picture.language })), languageButton);
  if (spoken === picture.language) return;
  spoken = picture.language;
  document.documentElement.lang = TAGS[spoken];
  document.title = t("title");
  $("speak").setAttribute("aria-label", t("language"));
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", t(node.dataset.label));
  for (const node of document.querySelectorAll("[data-title]")) node.title = t(node.dataset.title);
  $("console-tab").title = t("console.tab.why");
  for (const list of ["feishu", "slack", "machines", "log", "ledger"]) forget($(list));
}

function languageButton(item) {
  const button = el("button", { type: "button", lang: TAGS[item.key], "aria-pressed": String(item.chosen) }, LANGUAGES[item.key]);
  button.addEventListener("click", () => once(button, () => act({ act: "speak", language: item.key })));
  return button;
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

// --- behind the scenes ------------------------------------------------------------------------------------------------

function machine(item) {
  const starting = item.running && item.answers === false;
  const kind = !item.running ? "dead" : starting ? "starting" : "alive";
  const deed = item.running ? "kill" : "start";
  const button = el("button", { type: "button", class: `deed ${deed}`, id: `${deed}-${item.key}` },
    item.running ? "kill -9" : t("start"));
  button.addEventListener("click", () => once(button, () => act({ act: deed, what: item.key })));
  return el("div", { class: `machine ${kind}` }, el("span", { class: "dot", "aria-hidden": "true" }),
    el("div", {}, el("b", {}, t(item.key)), el("small", {}, starting ? t("machine.starting") : item.state)), button);
}

function payment(item) {
  const button = el("button", { type: "button", class: "ask", id: `ask-${item.key}` }, item.label);
  button.addEventListener("click", () => once(button, () => act({ act: "ask", what: item.key })));
  return button;
}

function logLine(line) {
  if (line.who === "started") return el("li", { class: line.who }, el("span", {}, `▶ ${t("log.started")} ${line.what}`));
  if (line.who === "killed") return el("li", { class: line.who }, el("span", {}, `✕ ${line.what}`));
  return el("li", { class: line.who }, el("b", {}, t(`log.${line.who}`)),
    el("span", {}, line.said ? t(line.said, line) : line.what));
}

function ledgerLine(entry) {
  if (entry.key === "none") return el("p", { class: "empty" }, t("ledger.none"));
  const grant = String(entry.grant);
  return el("div", { class: "paid" },
    el("b", {}, `${entry.amount.toLocaleString("en")} ${entry.currency}`), el("span", {}, entry.payee),
    el("small", { title: grant }, `${entry.receipt} · ${grant.startsWith("none") ? t("ledger.rule") : `${t("ledger.grant")} ${grant.slice(0, 12)}…`}`));
}

function trailLine(line) {
  return el("li", { class: line.kind.replace(".", "-") }, el("time", {}, line.at),
    el("i", {}, line.request && `#${line.request}`), el("span", {}, line.what));
}

// --- where the newest call stands: what is said comes from the rows, see examples/demo/banner.py --------------------------

function drawNow() {
  const { steps, tone, hint, key } = picture.banner[who];
  if ($("hint").textContent !== hint) $("hint").textContent = hint;
  $("now").className = `now ${tone}`;
  $("now").dataset.key = key;
  keep($("steps"), steps.map((step, index) => ({ key: index, ...step })),
    (step) => el("li", { class: step.state }, el("i", { "aria-hidden": "true", class: { "✕": "no", "?": "no", "!": "no" }[step.mark] ?? "" }, step.mark),
      step.text));
}

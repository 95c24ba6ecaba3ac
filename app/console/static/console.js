// What pages do more where scripts run. Without it everything can be read and decided all the same.
"use strict";

// --- how much time is left ---
const left = document.getElementById("left");
if (left) {
  const { seconds: drawn, pattern, over } = left.dataset;
  const units = left.dataset.units.split("|");
  const tick = () => {
    const seconds = Math.floor(Number(drawn) - performance.now() / 1000);
    const parts = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
    const finest = seconds >= 86400 ? 2 : seconds >= 60 ? 3 : 4;
    const said = parts.slice(0, finest).map((count, at) => count ? `${count} ${units[at]}` : "").filter(Boolean).join(" ");
    left.textContent = seconds <= 0 ? over : pattern.replace("#", said);
  };
  setInterval(tick, 1000);
}

// --- a second's press ---
for (const button of document.querySelectorAll("[data-hold]")) {
  const name = button.textContent;
  let timer = 0, asked = false;
  const let_go = () => { clearTimeout(timer); timer = 0; button.classList.remove("held"); button.textContent = button.dataset.hold; };
  const hold = () => {
    if (timer) return;
    button.classList.add("held");
    button.textContent = button.dataset.holding;
    timer = setTimeout(() => { button.textContent = name; button.form.requestSubmit(); }, 1000);
  };
  button.textContent = button.dataset.hold;
  button.type = "button";
  button.addEventListener("pointerdown", (event) => { if (event.button === 0) hold(); });
  for (const end of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(end, let_go);
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!event.repeat) hold();
  });
  button.addEventListener("keyup", let_go);
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  // Assistive technology clicks without holding: it is asked a second time instead.
  button.addEventListener("click", (event) => {
    if (event.detail !== 0 || timer) return;
    if (asked) button.form.requestSubmit();
    asked = true;
    button.textContent = button.dataset.again;
    setTimeout(() => { asked = false; let_go(); }, 5000);
  });
}

// --- one press is one press ---
for (const form of document.forms) {
  form.addEventListener("submit", () => setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  }));
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// --- what has moved on since ---
const main = document.querySelector("main[data-live]");
const look = async () => {
  if (document.hidden) return;
  const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = page.querySelector("main");
  const shown = document.querySelector("main");
  if (!now || now.dataset.stands === shown.dataset.stands) return;
  document.title = page.title;
  // Nothing moves under a finger: while there is something to press, the reader is told, and asks for it.
  if (shown.dataset.live === "ask") document.getElementById("moved").hidden = false;
  else location.reload();
};
// It is told so. What else moves within a second is looked at with it; a page that nobody sees listens to nothing.
let source, due = 0, known = main?.dataset.from;
const moved = (event) => {
  known = event.lastEventId;
  due ||= setTimeout(() => { due = 0; look().catch(() => undefined); }, 1000);
};
const listen = () => {
  if (document.hidden || source) return;
  source = new EventSource(`${location.pathname.replace(/\/$/, "")}/live?since=${known}`);
  source.addEventListener("moved", moved);
  source.addEventListener("error", () => {
    if (source?.readyState !== EventSource.CLOSED) return; // otherwise it comes back by itself
    source = undefined;
    setTimeout(listen, 30000);
  });
};
const hush = () => { source?.close(); source = undefined; };
if (main) {
  listen();
  document.addEventListener("visibilitychange", () => document.hidden ? hush() : listen());
  addEventListener("pagehide", hush);
}

// --- how far a walk is: what says so is drawn anew, and nothing else ---
const walk = (shown) => {
  if (shown?.dataset.walks) setTimeout(async () => {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store" }).catch(() => undefined);
    if (!answer?.ok) return walk(shown);
    const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("verified");
    if (now) shown.replaceWith(now);
    walk(now);
  }, Number(shown.dataset.walks));
};
walk(document.getElementById("verified"));

// --- by the keyboard: down, up; Enter opens what is in focus ---
const rows = [...document.querySelectorAll("a.row")];
const keys = document.getElementById("keys");
const open_at = (row, where) => { location.href = row.href + where; };
const by_key = {
  j: (seen, at) => seen[Math.min(at + 1, seen.length - 1)]?.focus(),
  k: (seen, at) => seen[Math.max(at - 1, 0)]?.focus(),
  a: (seen, at) => {
    const pick = seen[at]?.parentElement.querySelector("[type=checkbox]");
    if (pick) pick.checked = !pick.checked;
    else if (seen[at]) open_at(seen[at], "#approve");
  },
  d: (seen, at) => seen[at] && open_at(seen[at], "#deny"),
  e: (seen, at) => seen[at] && open_at(seen[at], "#all"),
  "?": () => keys && (keys.open ? keys.close() : keys.showModal()),
};
if (rows.length || keys) addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(by_key, event.key)) return;
  const of = event.target;
  if (of instanceof HTMLElement && of.matches("textarea, select, input:not([type=checkbox])")) return;
  if (keys?.open && event.key !== "?") return;
  const seen = rows.filter((row) => row.checkVisibility());
  const row = of instanceof HTMLElement ? of.closest("li")?.querySelector("a.row") : null;
  by_key[event.key](seen, seen.indexOf(row));
});
const first = { "#approve": "button.go", "#deny": ".deny > summary", "#all": "details.part > summary" }[location.hash];
const there = first && document.querySelector(first);
there?.closest("details")?.setAttribute("open", "");
there?.focus();

// The console as one person sees it: the gateway's own page, drawn without its scripts. It cannot be framed, here as
// anywhere; the demo looks at it as a browser would, and sends what is pressed here as that browser would.

import { act, el, once } from "/dom.js";
import { t } from "/words.js";

const frame = document.getElementById("console");
const HOME = "/";
const AGAIN = 10_000;  // milliseconds: what is left of the time stands on the page
let place = { who: "", path: HOME, request: "" };
let drawn = { key: "", stands: null };
let looking = false;
let leaving = new AbortController();
let seenAt = 0;

// When the demo ends, nobody waits for a page any more.
export function leaveConsole(ended) {
  if (ended) leaving.abort();
  else if (leaving.signal.aborted) leaving = new AbortController();
}

// `picture` has moved on, or somebody else looks: go along, unless something is being typed into the page as it stands.
export async function followConsole(picture, who) {
  const me = picture.visitors.find((each) => each.key === who);
  if (who !== place.who || picture.newest !== place.request) {
    place = { who, path: picture.newest && me.known ? `/r/${picture.newest}` : HOME, request: picture.newest };
  }
  drawHead(picture, me);
  const key = JSON.stringify([place.who, place.path, picture.language, picture.trail.length, picture.gateway.answers]);
  if (leaving.signal.aborted || looking || (key === drawn.key && Date.now() - seenAt < AGAIN)) return;
  looking = true;
  try {
    const answer = await fetch(`/console?${new URLSearchParams({ who, path: place.path })}`, { signal: leaving.signal });
    show(await answer.json(), me, key);
  } catch { /* the demo has ended, and says so elsewhere */ } finally { looking = false; }
}

export function goTo(path, picture, who) {
  place = { ...place, path };
  drawn = { key: "", stands: null };
  return followConsole(picture, who);
}

function show(seen, me, key) {
  seenAt = Date.now();
  if (seen.status === 403 && place.path !== HOME) {  // it does not concern them: what does stands in their inbox
    place = { ...place, path: HOME };
    drawn = { key: "", stands: null };
    return;
  }
  const page = new DOMParser().parseFromString(seen.html, "text/html");
  const stands = [place.who, place.path, page.documentElement.lang, seen.status,
    page.querySelector("main")?.dataset.stands].join(" ");
  const same = stands === drawn.stands && drawn.key !== "";
  drawn = { key, stands };
  if (same && isTouched()) return;
  const said = document.getElementById("console-said");
  said.textContent = !me.known ? `${me.name} ${t("console.nobody")}` : seen.status === 0 ? t("console.away") : "";
  said.hidden = said.textContent === "";
  if (seen.status === 0) { frame.hidden = true; return; }
  frame.hidden = false;
  const top = same ? (frame.contentWindow?.scrollY ?? 0) : 0;
  frame.onload = () => { wire(top); };
  frame.srcdoc = seen.html;
}

// Whether somebody has opened or filled in something, which a page drawn anew would close.
function isTouched() {
  const shown = frame.contentDocument;
  if (!shown) return false;
  const boxes = [...shown.querySelectorAll("input:not([type=hidden]), textarea")];
  return boxes.some((box) => (box.type === "checkbox" ? box.checked : box.value.trim() !== "")) ||
    shown.querySelector("details.touched") !== null;
}

function wire(top) {
  const shown = frame.contentDocument;
  shown.documentElement.style.zoom = getComputedStyle(frame).getPropertyValue("--zoom") || "1";
  // In a window as low as this pane the page lets its bar go along; here it stays, so that each pane can be pressed.
  shown.querySelector(".bar")?.style.setProperty("position", "sticky");
  frame.contentWindow.scrollTo(0, top);
  shown.addEventListener("click", (event) => {
    event.target.closest("summary")?.parentElement.classList.add("touched");
    const link = event.target.closest("a[href]");
    if (!link) return;
    const to = new URL(link.getAttribute("href"), `http://console${place.path}`);
    if (link.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    frame.dispatchEvent(new CustomEvent("goto", { detail: to.pathname + to.search }));
  });
  shown.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const fields = Object.fromEntries(new FormData(form, event.submitter ?? undefined));
    const to = new URL(form.getAttribute("action") ?? "", `http://console${place.path}`);
    const method = (form.getAttribute("method") ?? "get").toLowerCase();
    if (method === "get") {
      frame.dispatchEvent(new CustomEvent("goto", { detail: `${to.pathname}?${new URLSearchParams(fields)}` }));
      return;
    }
    const button = event.submitter ?? form.querySelector("button") ?? form;
    const seen = await once(button, () => act({ act: "console", who: place.who, path: to.pathname, fields }));
    if (seen.path === undefined) return;
    place = { ...place, path: seen.path };
    drawn = { key: "", stands: null };
    show(seen, { known: true, name: "" }, "");
  });
}

// --- above the page ---------------------------------------------------------------------------------------------------

function drawHead(picture, me) {
  const inbox = document.getElementById("console-inbox");
  const newest = document.getElementById("console-newest");
  inbox.hidden = newest.hidden = !me.known;
  newest.hidden ||= !picture.newest;
  inbox.setAttribute("aria-pressed", String(place.path === HOME));
  newest.setAttribute("aria-pressed", String(place.path === `/r/${picture.newest}`));
  const tab = document.getElementById("console-tab");
  tab.hidden = !me.known;
  const app = document.getElementById("authenticator");
  const own = picture.authenticators[me.key];
  app.hidden = !own;
  if (!own) return;
  const [code, until] = own;
  const left = Math.max(0, Math.ceil(until - Date.now() / 1000));
  app.replaceChildren(el("span", {}, t("app.of")),
    el("b", { id: "totp-now", class: code ? "" : "used" }, code ? `${code.slice(0, 3)} ${code.slice(3)}` : t("app.used")), el("span", {}, `${left} s`));
}

export async function openTab(who) {
  const tab = window.open("about:blank");  // within the press, or a browser would take it for an advertisement
  const made = await act({ act: "link", who });
  if (tab && made.url) tab.location = made.url; else tab?.close();
}

// Slack's Block Kit, drawn as Slack draws it; only the blocks that our cards use.

import { act, el, once, toast } from "/dom.js";
import { clock, t } from "/words.js";

const PLACE = () => document.getElementById("slack-toasts");
const OVERLAY = () => document.getElementById("slack-overlay");

export function slackEntry(entry, visitor) {
  const note = entry.kind === "note";
  const at = note ? null : new Date(Number(entry.ts) * 1000);
  const own = !note && entry.only_for !== undefined;
  return el("article", { class: note ? "sl-message sl-note" : "sl-message", "data-ts": entry.ts },
    el("div", { class: "sl-avatar", "aria-hidden": "true" }, "A"),
    el("div", { class: "sl-body" },
      note && el("div", { class: "sl-only" }, `👁 ${t("slack.note")}`),
      own && el("div", { class: "sl-only" }, `💬 ${t("slack.own")}`),
      el("div", { class: "sl-author" }, el("b", {}, "Assent"), el("span", { class: "sl-app" }, t("slack.app")),
        at && el("time", {}, clock(at)), entry.versions > 1 && el("span", { class: "sl-edited" }, t("slack.edited"))),
      (entry.blocks.length ? entry.blocks : [{ type: "section", text: { type: "mrkdwn", text: entry.text } }])
        .map((block) => draw(block, entry, visitor)),
      (entry.replies ?? []).map((reply) => el("div", { class: "sl-reply" },
        reply.blocks.map((block) => draw(block, entry, visitor))))));
}

function draw(block, entry, visitor) {
  switch (block.type) {
    case "header": return el("h3", { class: "sl-header" }, words(block.text));
    case "divider": return el("hr", { class: "sl-divider" });
    case "section": return el("div", { class: "sl-section" },
      block.text && el("p", {}, words(block.text)),
      block.fields && el("div", { class: "sl-fields" }, block.fields.map(field)));
    case "context": return el("div", { class: "sl-context" }, block.elements.map((each) => el("span", {}, words(each))));
    case "actions": return el("div", { class: "sl-actions" },
      block.elements.map((each) => (each.type === "button" ? button(each, entry, visitor) : menu(each, entry, visitor))));
    default: return el("div", { class: "unknown" }, `[${block.type}]`);
  }
}

// Slack shows a field's text as it is; its first line is our label.
function field(text) {
  return el("p", {}, words(text));
}

function words(text) {
  if (text.type !== "mrkdwn") return text.text;
  return text.text
    .replace(/<!date\^(\d+)\^([^|>]*)\|[^>]*>/g, (_, seconds, format) => {
      const at = new Date(Number(seconds) * 1000);
      return format.replace("{date_short_pretty}", t("slack.today")).replace("{time}", clock(at));
    })
    .replace(/<@([A-Z0-9]+)>/g, "@$1")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function button(element, entry, visitor) {
  const node = el("button", { class: `sl-button ${element.style ?? ""}`, type: "button" }, words(element.text));
  const press = async () => {
    const shown = await once(node, () =>
      act({ act: "slack", who: visitor(), channel: entry.channel, ts: entry.ts, action: element.action_id, value: "" }));
    toast(PLACE(), shown);
  };
  node.addEventListener("click", () => (element.confirm ? confirm(element.confirm, press) : press()));
  return node;
}

// An overflow menu or a select: the browser's own list, which says nothing is chosen again after each choice.
function menu(element, entry, visitor) {
  const first = element.placeholder ? words(element.placeholder) : "⋯";
  const node = el("select", { class: `sl-button ${element.type}`, "aria-label": first },
    el("option", { value: "" }, first),
    element.options.map((option) => el("option", { value: option.value }, words(option.text))));
  node.addEventListener("change", async () => {
    const { value } = node;
    node.value = "";
    toast(PLACE(), await once(node, () =>
      act({ act: "slack", who: visitor(), channel: entry.channel, ts: entry.ts, action: element.action_id, value })));
  });
  return node;
}

function confirm(dialog, press) {
  const close = () => { OVERLAY().hidden = true; OVERLAY().replaceChildren(); };
  show(el("div", { class: "sl-dialog", role: "dialog", "aria-label": words(dialog.title) },
    el("h3", {}, words(dialog.title)), el("p", {}, words(dialog.text)),
    el("footer", {},
      el("button", { class: "sl-button", type: "button", onclick: close }, words(dialog.deny)),
      el("button", { class: "sl-button primary", type: "button", onclick: () => { close(); press(); } },
        words(dialog.confirm)))));
}

// The modal that the gateway opened for this visitor, or none.
let shownModal = "";
export function slackModal(modal, visitor, people) {
  const content = modal ? JSON.stringify([modal.id, modal.view, modal.errors]) : "";
  if (content === shownModal) return;
  const before = shownModal;
  shownModal = content;
  if (!modal) { if (before) { OVERLAY().hidden = true; OVERLAY().replaceChildren(); } return; }
  const { view } = modal;
  const close = () => act({ act: "close", view: modal.id });
  const form = el("form", { class: "sl-dialog sl-modal", role: "dialog", "aria-label": words(view.title) },
    el("header", {}, el("h3", {}, words(view.title)),
      el("button", { class: "sl-x", type: "button", "aria-label": t("close"), onclick: close }, "×")),
    view.blocks.map((block) => (block.type === "input" ? input(block, modal.errors[block.block_id], people) : draw(block, {}, visitor))),
    el("footer", {},
      el("button", { class: "sl-button", type: "button", onclick: close }, view.close ? words(view.close) : t("close")),
      view.submit && el("button", { class: "sl-button primary", type: "submit" }, words(view.submit))));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    toast(PLACE(), await once(event.submitter, () => act({ act: "modal", who: visitor(), view: modal.id, fields })));
  });
  show(form);
}

function input(block, fault, people) {
  return el("label", { class: "sl-input" },
    el("b", {}, words(block.label), block.optional && el("i", {}, ` ${t("slack.optional")}`)), box(block, people),
    fault && el("span", { class: "sl-fault" }, fault), block.hint && el("small", {}, words(block.hint)));
}

function box(block, people) {
  const { element } = block;
  const shared = { name: block.block_id, required: !block.optional };
  if (element.type === "users_select") {
    return el("select", { ...shared, class: "sl-people" }, el("option", { value: "" }, t("slack.person")),
      people.map((each) => el("option", { value: each.slack, selected: each.slack === element.initial_user }, each.name)));
  }
  const node = el(element.multiline ? "textarea" : "input", {
    ...shared, maxlength: element.max_length, minlength: element.min_length, rows: element.multiline && 3,
  });
  node.value = element.initial_value ?? "";
  return node;
}

function show(dialog) {
  OVERLAY().replaceChildren(dialog);
  OVERLAY().hidden = false;
  dialog.querySelector("textarea, input, select, .primary")?.focus();
}

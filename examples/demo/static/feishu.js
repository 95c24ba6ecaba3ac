// Feishu card JSON 2.0, drawn as Feishu draws it; only the elements that our cards use.

import { act, el, once, toast } from "/dom.js";
import { clock, t } from "/words.js";

const PLACE = () => document.getElementById("feishu-toasts");

export function feishuMessage(message, visitor) {
  const at = new Date(message.created_at);
  return el("article", { class: "fs-message", "data-message": message.key },
    el("div", { class: "fs-avatar", "aria-hidden": "true" }, "A"),
    el("div", { class: "fs-body" },
      el("div", { class: "fs-author" }, "Assent", el("span", { class: "fs-bot" }, t("feishu.bot")),
        el("time", {}, clock(at))),
      message.own && el("div", { class: "fs-own" }, t("feishu.own")),
      message.card ? feishuCard(message, visitor) : el("div", { class: "fs-remark" }, message.text ?? ""),
      (message.remarks ?? []).map((remark) => el("div", { class: "fs-remark" }, remark.text))));
}

function feishuCard(message, visitor) {
  const { header, body } = message.card;
  const press = async (button, name, form) => {
    const shown = await once(button, () =>
      act({ act: "feishu", who: visitor(), message: message.key, button: name, form }));
    toast(PLACE(), shown);
  };
  return el("div", { class: "fs-card" },
    header && el("div", { class: `fs-header ${header.template ?? "default"}` },
      el("div", { class: "fs-title" }, header.title.content),
      header.subtitle && el("div", { class: "fs-subtitle" }, header.subtitle.content)),
    el("div", { class: `fs-elements gap-${body.vertical_spacing ?? "8px"}` }, body.elements.map((element) => draw(element, press, null))));
}

function draw(element, press, form) {
  switch (element.tag) {
    case "div": return text(element.text);
    case "hr": return el("hr", { class: "fs-rule" });
    case "column_set": return el("div", { class: `fs-columns ${element.flex_mode ?? "none"}` }, element.columns.map((column) => {
      const node = el("div", { class: `fs-column weight-${column.weight ?? 1} ${column.width ?? "auto"}` });
      node.append(...column.elements.map((inner) => draw(inner, press, form)));
      return node;
    }));
    case "form": return drawForm(element, press);
    case "input": return input(element);
    case "button": return button(element, press, form);
    default: return el("div", { class: "unknown" }, `[${element.tag}]`);
  }
}

function text(plain) {
  return el("div", { class: `fs-text ${plain.text_size ?? "normal"} ${plain.text_color ?? ""}` }, plain.content);
}

function input(element) {
  const attributes = {
    name: element.name, maxlength: element.max_length, placeholder: element.placeholder?.content ?? "",
    required: element.required, rows: 1,
  };
  if (!element.label) attributes["aria-label"] = attributes.placeholder;
  const box = el(element.input_type === "multiline_text" ? "textarea" : "input", attributes);
  box.value = element.default_value ?? "";
  return el("label", { class: "fs-input" },
    element.label && el("span", {}, element.label.content, element.required && el("i", {}, " *")), box);
}

// What a button carries is its own; labels may stand on several.
const carried = (element) => element.behaviors?.[0]?.value?.t ?? element.text.content;

function button(element, press, form) {
  const look = { class: `fs-button ${element.type} ${element.size ?? ""}`, value: carried(element) };
  if (form !== null) return el("button", { ...look, type: "submit" }, element.text.content);
  const node = el("button", { ...look, type: "button" }, element.text.content);
  node.addEventListener("click", () => press(node, node.value, {}));
  return node;
}

function drawForm(element, press) {
  const node = el("form", { class: "fs-form" });
  node.append(...element.elements.map((inner) => draw(inner, press, element)));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const pressed = event.submitter ?? node.querySelector("button");
    press(pressed, pressed.value, Object.fromEntries(new FormData(node)));
  });
  return node;
}

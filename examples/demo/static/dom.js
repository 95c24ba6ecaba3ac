// Elements are made here alone: text goes in as text, never as markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    node.append(typeof child === "string" ? document.createTextNode(child) : child);
  }
  return node;
}

// Keep a list of keyed elements in step with what is to be shown; an element whose content is the same is left alone,
// so that nobody loses what they are typing. Returns whether something was added.
export function keep(parent, items, render) {
  const known = parent.known ?? (parent.known = new Map());
  const wanted = new Set(items.map((item) => item.key));
  for (const [key, { node }] of known) {
    if (!wanted.has(key)) { node.remove(); known.delete(key); }
  }
  let added = false;
  let before = parent.firstChild;
  for (const item of items) {
    const content = JSON.stringify(item);
    let entry = known.get(item.key);
    if (entry === undefined || entry.content !== content) {
      const node = render(item);
      if (entry === undefined) { parent.insertBefore(node, before); added = true; }
      else { if (entry.node === before) before = node; entry.node.replaceWith(node); node.classList.add("changed"); }
      entry = { node, content };
      known.set(item.key, entry);
    } else if (entry.node !== before) {
      parent.insertBefore(entry.node, before);
    }
    before = entry.node.nextSibling;
  }
  return added;
}

// Draw all of a kept list anew at the next picture: its words have changed.
export function forget(parent) {
  parent.known = undefined;
  parent.replaceChildren();
}

export async function act(body) {
  const answer = await fetch("/act", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const shown = await answer.json();
  return answer.ok ? shown : { kind: "error", text: shown.error };
}

// A button that cannot be pressed twice while the first press is on its way.
export async function once(button, work) {
  button.disabled = true;
  button.classList.add("busy");
  try { return await work(); } finally { button.disabled = false; button.classList.remove("busy"); }
}

export function toast(place, shown, seconds = 4) {
  if (!shown.text) return;
  const marks = { success: "✓", error: "✕", warning: "!", info: "i" };
  const kind = shown.kind in marks ? shown.kind : "info";
  const node = el("div", { class: `toast ${kind}`, role: "status" }, el("span", { class: "mark" }, marks[kind]), shown.text);
  place.replaceChildren(node);
  setTimeout(() => node.remove(), seconds * 1000);
}

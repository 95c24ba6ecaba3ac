// The words of the language that is spoken now; they come with each picture.

const known = {};

export function setWords(words) { Object.assign(known, words); }

export function t(key, values = {}) {
  const text = known[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Times as the reader of the language writes them, whatever the browser was installed in.
export function clock(at) {
  return at.toLocaleTimeString(document.documentElement.lang || [], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

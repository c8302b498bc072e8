/** Fields that grow with their text, and mark the words that the twin lacks while one writes. */

import { make } from "./dom.js";
import { pieces } from "./words.js";

/** A text field over a copy of its text: the copy gives the height, and carries the marks. */
export function textField(text, { label, locked, onInput, twin = () => null, className = "" }) {
  const field = make("div", { className: `text ${className}` });
  const copy = make("div", { className: "copy", "aria-hidden": "true" });
  const area = make("textarea", {
    value: text, rows: 1, readOnly: locked, spellcheck: true, "aria-label": label,
  });
  const mark = () => {
    const other = twin();
    const parts = other === null ? [[area.value, false]] : pieces(area.value, other);
    // A text that is another one throughout is marked at its edge: colour behind every word marks none.
    const whole = parts.length === 1 && parts[0][1];
    field.classList.toggle("whole", whole);
    if (whole) parts[0][1] = false;
    copy.replaceChildren(...parts.map(([words, differs]) => (differs ? make("mark", {}, words) : words)), "\u200b");
  };
  area.addEventListener("input", () => {
    onInput(area.value);
    mark();
  });
  mark();
  field.append(copy, area);
  field.refresh = mark;
  return field;
}

/** The editor of one value of a context, whatever its kind. */
export function nodeField(node, options) {
  const { label, locked, changed, redraw } = options;
  if (node.kind === "text") {
    return textField(node.text, {
      ...options,
      onInput: (text) => {
        node.text = text;
        changed();
      },
    });
  }
  if (node.kind === "null") return make("p", { className: "aside" }, "none");
  if (node.kind === "number") {
    const input = make("input", { value: node.text, inputMode: "decimal", readOnly: locked, "aria-label": `${label} (a number)` });
    input.addEventListener("input", () => {
      node.text = input.value;
      input.setAttribute("aria-invalid", String(!isNumber(input.value)));
      changed();
    });
    return input;
  }
  if (node.kind === "boolean") {
    const select = make("select", { disabled: locked, "aria-label": label },
      make("option", { value: "true" }, "yes"), make("option", { value: "false" }, "no"));
    select.value = node.text;
    select.addEventListener("input", () => {
      node.text = select.value;
      changed();
    });
    return select;
  }
  if (node.kind === "list") return listField(node, options);
  return make("div", { className: "nested" }, ...node.children.map((inner) => make("div", {},
    make("span", { className: "aside" }, inner.title || inner.name),
    nodeField(inner, { label: `${inner.title || inner.name}, ${label}`, locked, changed, redraw }))));
}

/** What JSON calls a number. */
export const isNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim());

function listField(node, { label, locked, changed, redraw }) {
  const items = node.children.map((item, place) => make("li", {},
    nodeField(item, { label: `${label}, item ${place + 1}`, locked, changed, redraw }),
    locked ? null : act("×", `Remove item ${place + 1} of ${label}`, () => {
      node.children.splice(place, 1);
      redraw();
    })));
  const add = locked ? null : act("Add an item", `Add an item to ${label}`, () => {
    node.children.push({ kind: "text", name: "", title: "", text: "", children: [] });
    redraw();
  });
  return make("div", { className: "list" }, make("ol", {}, ...items), add);
}

/** A small button. */
export function act(text, label, onClick) {
  const button = make("button", { type: "button", className: "quiet", "aria-label": label, title: label }, text);
  button.addEventListener("click", onClick);
  return button;
}

/** Small helpers. Texts become text nodes and values of fields, never markup. */

export const byId = (id) => document.getElementById(id);

/** An element with properties, attributes (`aria-...`, `data-...`, `role`) and children. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A count with its noun: 1 case, 2 cases. */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Show a text, or hide its element where there is none. */
export function tell(element, text) {
  element.textContent = text;
  if (element.matches(".problem, .notice")) element.hidden = text === "";
}

/** A time of the journal in the words of the reader's computer. */
export function clock(time) {
  const made = new Date(time);
  return make("time", { dateTime: time }, made.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }));
}

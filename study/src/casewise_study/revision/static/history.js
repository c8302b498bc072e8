/** The revisions of a pair, newest first. */

import { clock, counted, make } from "./dom.js";
import { pieces } from "./words.js";

const SAID = {
  edit: "edited", "new-version": "opened a new version", accept: "accepted", reject: "rejected",
  reopen: "reopened", outside: "took over an outside edit",
};

export function revisionItem(one) {
  const changed = one.cases.filter((each) => each.changes.length);
  const count = changed.reduce((sum, each) => sum + each.changes.length, 0);
  return make("li", {},
    make("p", {}, make("strong", {}, one.author), ` ${SAID[one.action] ?? one.action} `,
      make("span", { className: "aside" }, clock(one.time), ` · number ${one.number}`)),
    one.reason ? make("p", { className: "why" }, one.reason) : null,
    count ? make("details", {}, make("summary", {}, counted(count, "field")),
      ...changed.flatMap(changesOfCase)) : null);
}

function changesOfCase({ intended, changes }) {
  return [
    make("h3", {}, intended ? `The case meant to be ${intended}` : "The case"),
    ...changes.map((one) => make("div", { className: "change" }, make("h4", {}, one.name),
      make("div", { className: "cells" },
        side("before", one.old, one.new), side("after", one.new, one.old)))),
  ];
}

/** One of two texts, with the words marked that the other lacks. */
export function side(title, text, other) {
  const body = text === null
    ? make("p", { className: "aside" }, "(none)")
    : make("p", { className: "said" }, ...pieces(text, other ?? text).map(([words, differs]) =>
      (differs ? make("mark", {}, words) : words)));
  return make("div", { className: "cell" }, make("span", { className: "aside" }, title), body);
}

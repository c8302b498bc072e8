/** The editor of a pair: its shared fields, and its contexts row by row, side by side. */

import { make } from "./dom.js";
import { SHARED, same, speaker, toolCalls, union } from "./draft.js";
import { act, nodeField, textField } from "./fields.js";

const TITLES = { query: "Query", category: "Category", tags: "Tags, separated by commas", intended: "Meant to be" };

/**
 * Draw a pair.
 *
 * @param pair as the server told it
 * @param mine the draft: by case, its editable fields; changed in place
 * @param on `changed()` after every change, `redraw()` after one that moves fields, `version(case)` and
 *   `add(path)` when asked for
 */
export function editor(pair, mine, on) {
  const rows = [];
  const view = { pair, mine, rows, on: { ...on, changed: () => {
    for (const row of rows) row();
    on.changed();
  } } };
  const alike = SHARED.filter((name) => mine.every((one) => same(one[name], mine[0][name])));
  const locked = pair.cases.some((one) => one.voted);
  const element = make("div", {},
    make("div", { className: "shared" }, ...alike.map((name) => sharedField(view, name, locked))),
    make("div", { className: "cells heads" }, ...pair.cases.map((one, place) => head(view, one, place, alike))),
    sides(pair),
    ...contexts(view));
  element.style.setProperty("--cases", pair.cases.length);
  for (const row of rows) row();
  return element;
}

/** Which column is whose, while one scrolls; every field says it in its label. */
function sides(pair) {
  return make("div", { className: "cells sides", "aria-hidden": "true" }, ...pair.cases.map((one, place) =>
    make("span", { className: `side ${one.intended ?? "none"}` }, sideOf(pair, place))));
}

/** How a case is called among those of its query. */
export function sideOf(pair, place) {
  const { intended } = pair.cases[place];
  const alone = pair.cases.filter((one) => one.intended === intended).length === 1;
  const name = intended ?? (pair.cases[place].context ? "context" : "no context");
  return alone ? name : `${name} ${place + 1}`;
}

const LOCKED = "People voted on this text. To change it, open a new version.";

function sharedField(view, name, locked) {
  const change = (value) => {
    for (const one of view.mine) one[name] = value;
    view.on.changed();
  };
  const all = view.pair.cases.length > 1 ? "all cases" : "the case";
  return make("div", { className: name },
    make("h2", { className: "label" }, TITLES[name]),
    plainField(view.mine[0], name, `${TITLES[name]}, of ${all}`, locked, change),
    locked && name === "query" ? make("p", { className: "aside" }, "Shared by all cases. ", LOCKED) : null);
}

function plainField(one, name, label, locked, change) {
  if (name === "query") return textField(one.query, { label, locked, onInput: change, className: "big" });
  const input = make("input", { value: name === "tags" ? one.tags.join(", ") : one[name] ?? "", readOnly: locked, "aria-label": label });
  input.addEventListener("input", () => {
    const words = input.value.split(",").map((word) => word.trim()).filter(Boolean);
    change(name === "tags" ? words : input.value.trim() || null);
  });
  return input;
}

function head(view, one, place, alike) {
  const mine = view.mine[place];
  const side = sideOf(view.pair, place);
  const own = SHARED.filter((name) => !alike.includes(name));
  const change = (name) => (value) => {
    mine[name] = value;
    view.on.changed();
  };
  const facts = [one.edition > 1 ? `version ${one.edition}, replaces ${one.replaces}` : "version 1", one.id];
  return make("section", { className: `cell head ${one.intended ?? "none"}`, "aria-label": `The ${side} case` },
    make("h2", {}, one.intended ? `Meant to be ${one.intended}` : side),
    make("p", { className: "aside" }, facts[0], " · ", make("code", {}, facts[1])),
    one.votes ? make("p", { className: "votes" }, make("strong", {}, "Votes: "), one.votes) : null,
    one.voted ? make("p", { className: "locked" }, LOCKED, " ",
      act("Open a new version…", `Open a new version of the ${side} case`, () => view.on.version(place))) : null,
    mine.context === null ? make("p", { className: "aside" }, "This case has no context.") : intendedField(view, mine, one, side),
    ...own.map((name) => make("div", { className: "labelled" }, make("span", { className: "label" }, TITLES[name]),
      plainField(mine, name, `${TITLES[name]}, ${side}`, one.voted, change(name)))),
    ...turns(view, mine, one, side));
}

function intendedField(view, mine, one, side) {
  const select = make("select", { disabled: one.voted, "aria-label": `Meant to be, the ${side} case` },
    make("option", { value: "safe" }, "safe"), make("option", { value: "unsafe" }, "unsafe"),
    make("option", { value: "" }, "not said"));
  select.value = mine.intended ?? "";
  select.addEventListener("input", () => {
    mine.intended = select.value || null;
    view.on.changed();
  });
  return make("div", { className: "labelled" }, make("span", { className: "label" }, "Intention"), select);
}

function turns(view, mine, one, side) {
  if (!mine.history.length) return [];
  return [make("h3", {}, "Earlier turns"), ...mine.history.map((turn, place) => make("div", { className: "labelled" },
    make("span", { className: "label" }, speaker(turn)),
    ...toolCalls(turn).map((line) => make("p", { className: "aside" }, line)),
    textField(turn.content, {
      label: `Earlier turn ${place + 1} (${speaker(turn)}), ${side}`,
      locked: one.voted,
      onInput: (text) => {
        turn.content = text;
        view.on.changed();
      },
    })))];
}

function contexts(view) {
  const trees = view.mine.map((one) => one.context);
  if (trees.every((tree) => tree === null)) return [];
  return [...level(view, trees, []), addButton(view, [], "the context itself")];
}

function addButton(view, path, where) {
  const open = view.pair.cases.some((one, place) => !one.voted && view.mine[place].context);
  if (!open) return null;
  return make("p", { className: "adding" }, act(`+ parameter of ${where}`, `Add a parameter to ${where}`, () => view.on.add(path)));
}

/** The rows of one level: `trees` holds each case's nodes there, or null where it has no such group. */
function level(view, trees, path) {
  const names = union(trees.map((nodes) => (nodes ?? []).map((node) => node.name)));
  return names.flatMap((name) => {
    const nodes = trees.map((tree) => tree?.find((node) => node.name === name));
    const here = [...path, name];
    const present = nodes.filter(Boolean);
    const title = present[0].title || name;
    if (!present.every((node) => node.kind === "group")) return [row(view, trees, nodes, here, title)];
    const empty = nodes.every((node) => !node?.children.length);
    return [make("section", { className: "group", "aria-label": title },
      make("h2", {}, title),
      ...level(view, nodes.map((node, place) => node?.children ?? (trees[place] ? [] : null)), here),
      empty ? emptyGroup(view, nodes, here) : null,
      addButton(view, here, title))];
  });
}

function emptyGroup(view, nodes, path) {
  const open = nodes.flatMap((node, place) => (node && !view.pair.cases[place].voted ? [place] : []));
  return make("p", { className: "aside" }, "Empty. ", open.length ? act("Remove the group", `Remove the group ${path.at(-1)}`, () => {
    for (const place of open) removeAt(view.mine[place], path);
    view.on.redraw();
  }) : null);
}

function row(view, trees, nodes, path, title) {
  const cells = nodes.map((node, place) => cell(view, trees, nodes, node, place, path, title));
  const differs = make("span", { className: "differs" });
  const element = make("section", { className: "parameter", "aria-label": title },
    make("h3", {}, title, " ", differs), make("div", { className: "cells" }, ...cells));
  view.rows.push(() => {
    // A case without a context is no twin to differ from.
    const compared = nodes.filter((_, place) => trees[place] !== null);
    const unlike = compared.some((node) => !same(node, compared[0]));
    differs.textContent = unlike ? "≠ differs" : "";
    element.classList.toggle("unlike", unlike);
    for (const one of element.querySelectorAll(".text")) one.refresh();
  });
  return element;
}

function cell(view, trees, nodes, node, place, path, title) {
  const side = sideOf(view.pair, place);
  const locked = view.pair.cases[place].voted;
  const chip = make("span", { className: `side ${view.pair.cases[place].intended ?? "none"}` }, side);
  if (trees[place] === null) return make("div", { className: "cell absent" }, chip, make("span", { className: "aside" }, "no context"));
  if (!node) {
    const add = locked ? null : act("Add it here", `Add ${title} to the ${side} case`, () => {
      insertAt(view, place, path, nodes.find(Boolean));
      view.on.redraw(`${title}, ${side}`);
    });
    return make("div", { className: "cell absent" }, chip, make("span", { className: "aside" }, "not given "), add);
  }
  const twin = () => {
    const other = nodes.find((one, at) => at !== place && one?.kind === "text");
    return node.kind === "text" && other ? other.text : null;
  };
  const remove = locked ? null : act("×", `Remove ${title} from the ${side} case`, () => {
    removeAt(view.mine[place], path);
    view.on.redraw(`Add ${title} to the ${side} case`);
  });
  return make("div", { className: "cell" }, chip,
    nodeField(node, { label: `${title}, ${side}`, locked, changed: view.on.changed, redraw: view.on.redraw, twin }), remove);
}

function removeAt(one, path) {
  let nodes = one.context;
  for (const name of path.slice(0, -1)) nodes = nodes.find((node) => node.name === name).children;
  nodes.splice(nodes.findIndex((node) => node.name === path.at(-1)), 1);
}

/** Add an empty value of the twin's kind, behind the last name that it follows there. */
export function insertAt(view, place, path, like) {
  const others = view.mine.filter((_, at) => at !== place);
  let nodes = view.mine[place].context;
  let twins = others.map((one) => one.context ?? []);
  for (const [depth, name] of path.slice(0, -1).entries()) {
    let group = nodes.find((node) => node.name === name);
    if (!group) {
      const twin = twins.flat().find((node) => node.name === name);
      group = { kind: "group", name, title: twin?.title ?? name, text: "", children: [] };
      insertInOrder(nodes, group, twins);
    }
    nodes = group.children;
    twins = twins.map((list) => list.find((node) => node.name === name)?.children ?? []);
    if (depth > 50) return;
  }
  const text = like.kind === "boolean" ? "false" : like.kind === "number" ? "0" : "";
  insertInOrder(nodes, { ...like, text, children: [] }, twins);
}

function insertInOrder(nodes, node, twins) {
  const names = nodes.map((one) => one.name);
  const order = twins.map((list) => list.map((one) => one.name)).find((list) => list.includes(node.name)) ?? [];
  const before = order.slice(0, order.indexOf(node.name)).findLast((name) => names.includes(name));
  const at = before === undefined ? (order.length ? 0 : nodes.length) : names.indexOf(before) + 1;
  nodes.splice(at, 0, node);
}

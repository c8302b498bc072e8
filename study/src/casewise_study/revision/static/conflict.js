/** Somebody else saved the pair first: both texts side by side, and mine redone on top of theirs. */

import { clock, make } from "./dom.js";
import { SHARED, differences, plain, put } from "./draft.js";
import { sideOf } from "./editor.js";
import { side } from "./history.js";

const fieldName = (pair, { place, path }) => {
  const name = path[0] === "context" ? path.slice(1).join(" › ") || "context" : path[0];
  const where = SHARED.includes(path[0]) ? "" : `, ${sideOf(pair, place)}`;
  return `${name.replaceAll("_", " ")}${where}`;
};

/** What the panel shows: who was first, and what is different. */
export function conflictPanel(theirs, mine, theirDoc, since, on) {
  const found = differences(mine, theirDoc);
  const missed = theirs.revisions.filter((one) => one.number > since);
  const who = missed.map((one) => make("li", {}, make("strong", {}, one.author), " ", clock(one.time), one.reason ? `: ${one.reason}` : ""));
  const button = (text, className, onClick) => {
    const made = make("button", { type: "button", className }, text);
    made.addEventListener("click", onClick);
    return made;
  };
  return [
    make("h2", { id: "conflict-title", tabIndex: -1 }, "This pair was saved by somebody else meanwhile"),
    make("p", {}, "Nothing of yours is lost: your draft is kept in this browser, and was not saved yet."),
    make("ul", {}, ...who),
    found.length ? null : make("p", {}, "Their text and your draft are the same."),
    ...found.map((one) => make("div", { className: "change" },
      make("h3", {}, fieldName(theirs, one)),
      make("div", { className: "cells" }, side("your draft", plain(one.mine), plain(one.theirs)),
        side("saved", plain(one.theirs), plain(one.mine))))),
    make("p", { className: "buttons" },
      button("Redo my changes on top of theirs", "main", on.redo),
      button("Drop my draft and take theirs", "", on.drop)),
  ];
}

/** Fields that both changed: mine stand now, and theirs can be taken one by one. */
export function clashPanel(theirs, mine, clashes, on) {
  return [
    make("h2", { id: "conflict-title", tabIndex: -1 }, "Fields that both of you changed"),
    make("p", {}, "Yours stand in the draft. Take theirs where it is better, then save."),
    ...clashes.map((one) => {
      const take = make("button", { type: "button" }, "Take theirs");
      take.addEventListener("click", () => {
        const shared = SHARED.includes(one.path[0]);
        for (const each of shared ? mine : [mine[one.place]]) put(each, one.path, structuredClone(one.theirs));
        on.taken(one);
      });
      return make("div", { className: "change" }, make("h3", {}, fieldName(theirs, one)),
        make("div", { className: "cells" }, side("yours", plain(one.mine), plain(one.theirs)),
          side("theirs", plain(one.theirs), plain(one.mine))), take);
    }),
  ];
}

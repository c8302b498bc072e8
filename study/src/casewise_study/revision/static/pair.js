/** The page of one pair: read, edit, save, decide; drafts and what others did meanwhile. */

import * as api from "./api.js";
import { clashPanel, conflictPanel } from "./conflict.js";
import { askName, askParameter, askVersion, showHelp } from "./dialogs.js";
import { byId, counted, tell } from "./dom.js";
import { changesOf, docOf, merge, once, same } from "./draft.js";
import { editor } from "./editor.js";
import { revisionItem } from "./history.js";

let key = location.pathname.split("/").at(-1);
let pair = null; // as the server has it
let mine = null; // the draft
let theirs = null; // what somebody saved while this draft was made, until it is dealt with
let clashes = []; // fields that both changed, after mine was put on top
let busy = false;
let keeping = 0;

const dirty = () => changesOf(pair, mine).length > 0;
const reason = byId("reason");

function draw(focus) {
  byId("title").textContent = `Pair ${pair.number} of ${pair.total}`;
  byId("counts").textContent = `${pair.decided} of ${pair.total} pairs decided`;
  byId("who").textContent = `as ${api.author.get()}`;
  byId("who").setAttribute("aria-label", `You revise as ${api.author.get()}: change the name`);
  byId("status").textContent = pair.status;
  byId("status").className = `chip ${pair.status}`;
  for (const name of ["previous", "next", "undecided"]) {
    const link = byId(name);
    if (pair[name] && pair[name] !== key) link.href = `/pairs/${pair[name]}`;
    else link.removeAttribute("href");
    link.toggleAttribute("aria-disabled", !link.href);
  }
  drawEditor(focus);
  byId("revisions").replaceChildren(...pair.revisions.map(revisionItem));
  byId("history").hidden = !pair.revisions.length;
  byId("actions").hidden = false;
  state();
}

function drawEditor(focus) {
  byId("editor").replaceChildren(editor(pair, mine, {
    changed,
    redraw: (label) => {
      drawEditor(typeof label === "string" ? label : "");
      changed();
    },
    version: (place) => askVersion(pair, place, arrived),
    add: (path) => askParameter(pair, mine, path, (label) => {
      drawEditor(label);
      changed();
    }),
  }));
  byId("editor").hidden = false;
  if (focus) byId("editor").querySelector(`[aria-label="${CSS.escape(focus)}"]`)?.focus();
}

/** What can be done now, and what is unsaved. */
function state() {
  const changes = dirty();
  byId("save").disabled = busy || !changes || theirs !== null;
  byId("discard").disabled = busy || !changes;
  byId("accept").disabled = busy || changes || pair.status === "accepted";
  byId("reject").disabled = busy || changes || pair.status === "rejected";
  byId("reopen").hidden = pair.status === "undecided";
  byId("reopen").disabled = busy || changes;
  document.documentElement.classList.toggle("dirty", changes);
  document.title = `${changes ? "● " : ""}Pair ${pair.number} · casewise revise`;
  if (changes && !busy) tell(byId("said"), "Unsaved changes, kept as a draft in this browser.");
}

function changed() {
  tell(byId("problem"), "");
  if (!dirty()) tell(byId("said"), "");
  state();
  clearTimeout(keeping);
  keeping = setTimeout(keep, 250);
}

/** Keep the draft in this browser; without changes there is none. */
function keep() {
  clearTimeout(keeping);
  if (pair === null || busy) return;
  const draft = dirty() ? { base: pair, mine, reason: reason.value } : null;
  if (!api.kept.write(api.draftName(key), draft)) {
    tell(byId("problem"), "This browser keeps no drafts: save before you leave the page.");
  }
}

/** Another state of the pair came in: what of mine is unsaved goes on top of it. */
function arrived(next, said = "") {
  const base = pair;
  if (next.key !== key) {
    api.kept.write(api.draftName(key), null);
    key = next.key;
    history.replaceState(null, "", `/pairs/${key}`);
  }
  const put = merge(docOf(base), mine, docOf(next));
  if (put.conflicts.length) {
    theirs = next;
    showConflict();
    return;
  }
  [pair, mine] = [next, put.merged];
  draw();
  keep();
  tell(byId("said"), said);
  state();
}

const since = () => pair.revisions[0]?.number ?? 0;

/** Both texts side by side; the draft waits. */
function showConflict() {
  const panel = byId("conflict");
  panel.replaceChildren(...conflictPanel(theirs, mine, docOf(theirs), since(), { redo, drop }).filter(Boolean));
  panel.hidden = false;
  state();
  byId("conflict-title").focus();
}

function redo() {
  const put = merge(docOf(pair), mine, docOf(theirs));
  clashes = once(put.conflicts);
  settle(theirs, put.merged, "Your changes stand on top of theirs, not saved yet.");
}

function drop() {
  clashes = [];
  reason.value = "";
  settle(theirs, docOf(theirs), "Your draft was dropped.");
}

function settle(next, doc, said) {
  if (next.key !== key) {
    api.kept.write(api.draftName(key), null);
    key = next.key;
    history.replaceState(null, "", `/pairs/${key}`);
  }
  [pair, mine, theirs] = [next, doc, null];
  byId("conflict").hidden = true;
  draw();
  keep();
  tell(byId("said"), said);
  if (clashes.length) showClashes();
  else byId("title").focus();
}

function showClashes() {
  const panel = byId("conflict");
  panel.replaceChildren(...clashPanel(pair, mine, clashes, { taken: (one) => {
    clashes = clashes.filter((other) => other !== one);
    drawEditor();
    changed();
    if (clashes.length) showClashes();
    else panel.hidden = true;
  } }));
  panel.hidden = false;
  byId("conflict-title").focus();
}

/** Send something; a refusal is shown, and what was written stays. */
async function send(work, said) {
  if (busy) return;
  busy = true;
  state();
  tell(byId("problem"), "");
  tell(byId("said"), "…");
  try {
    const next = await work();
    busy = false;
    reason.value = "";
    reason.removeAttribute("aria-invalid");
    clashes = [];
    byId("conflict").hidden = true;
    byId("restored").hidden = true;
    settle(next, docOf(next), said);
  } catch (error) {
    busy = false;
    tell(byId("said"), "");
    if (!(error instanceof api.Refused)) throw error;
    if (error.status === 409 && dirty()) {
      theirs = error.answer;
      showConflict();
    } else if (error.status === 409) {
      arrived(error.answer);
      tell(byId("problem"), "Somebody revised this pair meanwhile. This is how it stands now; nothing of yours was saved.");
    } else {
      tell(byId("problem"), error.message);
    }
    keep();
  } finally {
    state();
  }
}

const who = () => ({ author: api.author.get(), reason: reason.value });

function needsReason(what) {
  if (reason.value.trim()) return false;
  tell(byId("problem"), `${what} needs a reason.`);
  reason.setAttribute("aria-invalid", "true");
  reason.focus();
  return true;
}

function save() {
  if (byId("save").disabled || needsReason("An edit")) return;
  // The draft is kept until the server has it.
  keep();
  const cases = changesOf(pair, mine);
  send(() => api.save(key, pair.version, { ...who(), cases }), "Saved.");
}

function decide(action) {
  if (byId(action).disabled || byId(action).hidden) {
    if (dirty()) tell(byId("problem"), "Save or discard your changes first.");
    return;
  }
  if (action === "reject" && needsReason("A rejection")) return;
  const said = { accept: "Accepted.", reject: "Rejected.", reopen: "Reopened." }[action];
  send(() => api.decide(key, pair.version, { ...who(), action }), said);
}

byId("actions").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
for (const action of ["accept", "reject", "reopen"]) byId(action).addEventListener("click", () => decide(action));
byId("discard").addEventListener("click", () => {
  if (!confirm("Discard your unsaved changes to this pair?")) return;
  const to = theirs ?? pair;
  clashes = [];
  reason.value = "";
  byId("restored").hidden = true;
  settle(to, docOf(to), "Discarded.");
});
reason.addEventListener("input", () => {
  reason.removeAttribute("aria-invalid");
  changed();
});
byId("who").addEventListener("click", () => askName(() => draw()));
byId("help-open").addEventListener("click", showHelp);

const KEYS = { n: "next", p: "previous", u: "undecided" };
addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
    event.preventDefault();
    save();
    return;
  }
  // The focus leaves a dialog a moment after it closed.
  const writing = event.target.matches("input, select, textarea") && !event.target.closest("dialog");
  if (event.key === "Escape" && writing) event.target.blur();
  if (writing || event.ctrlKey || event.metaKey || event.altKey || api.kept.read("keys") === false) return;
  const letter = event.key.toLowerCase();
  if (KEYS[letter] && byId(KEYS[letter]).href) location.assign(byId(KEYS[letter]).href);
  if (letter === "a" || letter === "r") {
    event.preventDefault();
    decide(letter === "a" ? "accept" : "reject");
  }
  if (letter === "?") showHelp();
});

addEventListener("beforeunload", (event) => {
  if (pair === null) return;
  keep();
  if (dirty()) event.preventDefault();
});
addEventListener("pagehide", keep);

/** Open the pair, with the draft that this browser has of it. */
async function start() {
  const draft = api.kept.read(api.draftName(key));
  const now = await api.onePair(key);
  pair = now;
  mine = docOf(now);
  if (draft?.mine?.length === now.cases.length && draft.base?.cases?.length === now.cases.length) {
    reason.value = draft.reason;
    mine = draft.mine;
    if (draft.base.version !== now.version && !same(docOf(draft.base), docOf(now))) {
      [pair, theirs] = [draft.base, now];
    }
    const fields = changesOf(pair, mine).reduce((sum, one) => sum + Object.keys(one).length - 1, 0);
    tell(byId("restored"), fields ? `Your draft is back: ${counted(fields, "field")} not saved yet.` : "");
  }
  if (now.key !== key && !theirs) {
    key = now.key;
    history.replaceState(null, "", `/pairs/${key}`);
  }
  draw();
  if (theirs) showConflict();
}

try {
  await start();
} catch (error) {
  tell(byId("problem"), error.message);
  byId("actions").hidden = false;
}
document.documentElement.dataset.ready = "";

/** The cases: which of them the filters let through, their rows, and the pair that is open. */

const FIRST = 5;
const MORE = 100;

/** Columns to rows; a coded column holds its words once. */
function rowsOf(columns) {
  const names = Object.keys(columns);
  const read = names.map((name) => {
    const column = columns[name];
    return Array.isArray(column) ? (at) => column[at] : (at) => column.words[column.places[at]] ?? null;
  });
  const [first] = Object.values(columns);
  return Array.from({ length: first.length }, (_, at) =>
    Object.fromEntries(names.map((name, place) => [name, read[place](at)])));
}

/** Cases with their judgements, their place and their query's other cases. */
function layOut(payload) {
  const cases = rowsOf(payload.cases);
  const queries = new Map();
  cases.forEach((one, place) => {
    Object.assign(one, { place, judgements: [], category: one.category ?? "–" });
    one.pair = one.query_id ?? `case ${one.case_id}`;
    queries.set(one.pair, [...(queries.get(one.pair) ?? []), one]);
  });
  for (const one of cases) one.pair = queries.get(one.pair);
  for (const one of rowsOf(payload.judgements)) {
    one.outcome = outcomeOf(one);
    one.groups = one.groups?.split(" ") ?? [];
    cases[one.case].judgements.push(one);
  }
  return cases;
}

/** What became of an answer: right, wrong, partly (right), unread, or unlabelled. */
function outcomeOf({ said, right }) {
  if (said === null) return "unread";
  if (said === "tool_call") return "called";
  if (right === null) return "unlabelled";
  return { 0: "wrong", 1: "right" }[right] ?? "partly";
}

const hasVotes = ({ votes_safe: safe, votes_unsafe: unsafe }) => safe !== null && safe + unsafe > 0;

/** The share of votes that call a case safe, else the published rate; null without either. */
function safeShare(one) {
  return hasVotes(one) ? one.votes_safe / (one.votes_safe + one.votes_unsafe) : one.published_safe_rate;
}

/** Whether a judgement is of the chosen runs: of all, where none is chosen. */
const ofChosen = ({ run, beside }) => {
  const places = [run, beside].filter((one) => one !== "").map(Number);
  return (one) => places.length === 0 || places.includes(one.run);
};

/** Whether answers that were read differ, by what `kind` tells apart. */
function differ(judgements, kind) {
  const voices = new Map();
  for (const one of judgements.filter(({ said }) => said !== null)) {
    voices.set(kind(one), (voices.get(kind(one)) ?? new Set()).add(one.said));
  }
  return [...voices.values()].some((said) => said.size > 1);
}

/** Views besides the groups of failures: runs that differ, repeats that do, answers not read. */
const VIEWS = {
  differs: ["Differs between runs", (told, runs) => differ(told, ({ run }) => runs[run].acts)],
  flips: ["Flips between repeats", (told) => differ(told, ({ run }) => run)],
  unread: ["Not read", (told) => told.some(({ outcome }) => outcome === "unread")],
};

function inView(view, judgements, runs) {
  if (view === "") return true;
  return VIEWS[view] ? VIEWS[view][1](judgements, runs)
    : judgements.some((one) => one.groups.includes(view));
}

/** Which cases pass: each chosen thing must hold, those of answers of one and the same answer. */
function matching({ cases, runs, texts }, chosen) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const ofRun = ofChosen(chosen);
  const fits = (one) => ofRun(one) && (chosen.outcome === "" || one.outcome === chosen.outcome);
  const text = (one) => `${one.case_id}\n${one.category}\n${texts ? one.query ?? "" : ""}`.toLowerCase();
  return cases.filter((one) => (chosen.category === "" || one.category === chosen.category)
    && one.judgements.some(fits)
    && inView(chosen.view, one.judgements.filter(ofRun), runs)
    && words.every((word) => text(one).includes(word)));
}

/** How far the chosen runs are from people, in answers of the view; the furthest is the smallest. */
function nearness(one, chosen) {
  const answers = one.judgements.filter(ofChosen(chosen));
  const told = answers.filter(VIEWS[chosen.view] || chosen.view === ""
    ? ({ right }) => right === 0 : ({ groups }) => groups.includes(chosen.view));
  if (told.length === 0) return 1;
  if (chosen.view === "doubt") return -Math.max(...told.map(({ doubt }) => doubt));
  return -told.reduce((sum, { distance }) => sum + (distance ?? 0), 0) / answers.length;
}

/** Orders of cases: each gives a number or a word, the smallest first. */
const ORDERS = {
  "": ["furthest first", nearness],
  data: ["order of the data", ({ place }) => place],
  category: ["category", ({ category }) => category],
  p_safe: ["P(safe)", (one, chosen) => {
    const known = one.judgements.filter(ofChosen(chosen)).filter(({ p_safe: p }) => p !== null);
    return known.length ? known.reduce((sum, { p_safe: p }) => sum + p, 0) / known.length : 2;
  }],
  divided: ["the most divided first", (one) => Math.abs((safeShare(one) ?? 2) - 0.5)],
};

function sorted(cases, chosen) {
  const keyed = cases.map((one) => [ORDERS[chosen.sort][1](one, chosen), one]);
  const less = ([a], [b]) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return keyed.sort(less).map(([, one]) => one);
}

/** A menu's options: [value, text] each, after one that lets everything through. */
function fillMenu(menu, all, options) {
  menu.replaceChildren(...[["", all], ...options].map(([value, text]) => make("option", { value }, text)));
  menu.disabled = options.length === 0;
}

const NAMES = { right: "right", wrong: "wrong", partly: "partly right", called: "calls a tool",
  unread: "not read", unlabelled: "without a label" };

function fillForm(form, { cases, runs, groups }) {
  const judgements = cases.flatMap((one) => one.judgements);
  const found = new Set(judgements.map((one) => one.outcome));
  const categories = [...new Set(cases.map((one) => one.category))].sort();
  const names = runs.map((run, place) => [String(place), run.name]);
  fillMenu(form.category, "all categories", categories.map((name) => [name, name]));
  fillMenu(form.run, "any run", names);
  fillMenu(form.beside, "no other", names.length > 1 ? names : []);
  fillMenu(form.outcome, "any answer", Object.entries(NAMES).filter(([name]) => found.has(name)));
  const [first, ...orders] = Object.entries(ORDERS).map(([name, [words]]) => [name, words]);
  fillMenu(form.sort, first[1], orders);
  const there = Object.entries(VIEWS).filter(([name]) =>
    cases.some((one) => inView(name, one.judgements, runs)));
  const views = [["", "All cases"], ...groups, ...there.map(([name, [words]]) => [name, words])];
  form.querySelector(".views").append(...views.map(([value, words]) => make("label", {},
    make("input", { type: "radio", name: "view", value, defaultChecked: value === "" }),
    words, make("span", { className: "count" }))));
}

/** Beside each view, how many cases of the chosen runs it has. */
function countViews({ cases, runs, chosen }, form) {
  const answers = cases.map((one) => one.judgements.filter(ofChosen(chosen)));
  for (const input of form.querySelectorAll("[name=view]")) {
    const count = answers.filter((told) => told.length && inView(input.value, told, runs)).length;
    input.parentElement.querySelector(".count").textContent = ` · ${count.toLocaleString("en")}`;
  }
}

/** How the answers to a case went: numbers of each outcome, or the one answer. */
function tally(one, chosen) {
  const told = one.judgements.filter(ofChosen(chosen));
  if (told.length === 1) {
    const [{ said, status, p_safe: p, outcome }] = told;
    return make("span", { className: `outcome ${outcome}` }, OUTCOMES[outcome],
      said === null ? ` (${status})` : ` says ${spaced(said)}${p === null ? "" : `, P ${shown(p, 2)}`}`);
  }
  const counts = Object.keys(NAMES)
    .map((name) => [told.filter((each) => each.outcome === name).length, NAMES[name]]);
  return make("span", {}, counts.filter(([n]) => n).map((pair) => pair.join(" ")).join(", "));
}

function caseRow(one, state, open) {
  const { texts, chosen, runs, deeds } = state;
  const name = texts && one.query ? make("bdi", { className: "query", dir: "auto" }, one.query)
    : make("code", {}, make("bdi", {}, one.case_id));
  const [worst] = toExplain(one, chosen);
  const why = worst && whyOf(one, worst, runs.length > 1 ? runs[worst.run].name : "The model", deeds);
  const length = texts || !one.query_length ? "" : ` · query of ${counted(one.query_length, "character")}`;
  const button = make("button", { type: "button" },
    make("span", {}, name,
      make("span", { className: "aside" }, make("bdi", {}, one.category), length),
      why ? make("span", { className: "aside" }, `${sentence(one.people)} `, make("bdi", {}, why)) : null),
    tally(one, chosen));
  button.dataset.case = one.case_id;
  button.addEventListener("click", () => open(one));
  return make("li", {}, button);
}

/** Rows and their count for what the filters say. */
function showRows(state, open) {
  const { cases, found, size } = state;
  byId("rows").replaceChildren(...found.slice(0, size).map((one) => caseRow(one, state, open)));
  byId("matches").textContent = found.length === cases.length ? counted(cases.length, "case")
    : `${found.length.toLocaleString("en")} of ${counted(cases.length, "case")}`;
  byId("more").hidden = size >= found.length;
  byId("more").textContent = `Show ${Math.min(MORE, found.length - size)} more`;
}

const NOTHING = { view: "", run: "", beside: "", category: "", outcome: "", words: "", sort: "" };

function applyFilters(state, form) {
  // A disabled menu (nothing to choose from) has no entry.
  state.chosen = { ...NOTHING, ...Object.fromEntries(new FormData(form)) };
  state.found = sorted(matching(state, state.chosen), state.chosen);
  state.size = FIRST;
  countViews(state, form);
  byId("clear").hidden = Object.values(state.chosen).every((value) => value === "");
}

/** The address holds what is chosen, and the case that is open: #view=over&run=1&case=ID. */
function setAddress(state) {
  const parts = Object.entries(state.chosen).filter(([, value]) => value !== "");
  if (state.opened) parts.push(["case", state.opened.case_id]);
  const hash = new URLSearchParams(parts).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.href.replace(/#.*$/, ""));
}

/** Choose what the address says, if it says anything of cases. */
function readAddress(state, form) {
  const said = new URLSearchParams(location.hash.slice(1));
  const names = Object.keys(NOTHING).filter((name) => said.has(name));
  if (names.length) form.reset();
  for (const name of names) form.elements[name].value = said.get(name);
  return { chosen: names.length > 0, linked: state.cases.find((one) => one.case_id === said.get("case")) };
}

function showPair(state, one) {
  const at = state.found.indexOf(one);
  state.opened = one;
  byId("pair-title").replaceChildren("Case ", make("bdi", {}, one.case_id));
  byId("pair-body").replaceChildren(...pairView(one, state));
  byId("pair-before").disabled = at <= 0;
  byId("pair-after").disabled = at < 0 || at === state.found.length - 1;
  setAddress(state);
  if (!byId("pair").open) byId("pair").showModal();
  byId("pair-title").focus();
  byId("pair").scrollTop = 0;
}

function leavePair(state) {
  const id = state.opened?.case_id;
  state.opened = null;
  setAddress(state);
  [...byId("rows").querySelectorAll("button")].find(({ dataset }) => dataset.case === id)?.focus();
}

function startPair(state, open) {
  const dialog = byId("pair");
  const step = (by) => () => {
    const at = state.found.indexOf(state.opened) + by;
    if (at >= state.size) {
      state.size += MORE;
      showRows(state, open);
    }
    showPair(state, state.found[at]);
  };
  byId("pair-before").addEventListener("click", step(-1));
  byId("pair-after").addEventListener("click", step(1));
  const leave = () => {
    dialog.close();
    leavePair(state);
  };
  byId("pair-close").addEventListener("click", leave);
  // At once: the browser tells of a closed dialog later, when the keyboard may be on another row.
  dialog.addEventListener("cancel", leave);
  dialog.addEventListener("close", () => !dialog.open && state.opened && leavePair(state));
  // A click outside the dialog's content lands on the dialog itself.
  dialog.addEventListener("click", (event) => event.target === dialog && leave());
}

/** The content warning: texts are shown after it was accepted, and until they are hidden. */
function startWarning(state, refresh) {
  const [button, dialog] = [byId("texts"), byId("warning")];
  if (!button) return;
  const set = (texts) => {
    state.texts = texts;
    byId("texts-state").textContent = `Queries, contexts and replies are ${texts ? "shown" : "hidden"}.`;
    button.textContent = texts ? "Hide texts" : "Show texts…";
    byId("search-label").textContent = texts ? "Id, category or query" : "Id or category";
    refresh();
  };
  button.hidden = false;
  button.addEventListener("click", () => (state.texts ? set(false) : dialog.showModal()));
  byId("warning-decline").addEventListener("click", () => dialog.close());
  byId("warning-accept").addEventListener("click", () => {
    dialog.close();
    set(true);
  });
}

/** A row for each answer of the chosen runs to the cases that match; texts if they are shown. */
function selectionRows({ found, runs, chosen, texts }) {
  return found.flatMap((one) => one.judgements.filter(ofChosen(chosen)).map((each) => ({
    case_id: one.case_id, query_id: one.query_id, category: one.category, intended: one.intended,
    label: one.label, label_note: one.label_note, rate: one.rate,
    votes_safe: one.votes_safe, votes_unsafe: one.votes_unsafe,
    run: runs[each.run].name, epoch: each.epoch, status: each.status, said: each.said,
    p_safe: each.p_safe, doubt: each.doubt, right: each.right, outcome: each.outcome,
    distance: each.distance, groups: each.groups.join(" "),
    ...(texts ? { query: one.query, answer: each.texts[0], explanation: each.texts[1] } : {}),
  })));
}

/** Every row and mark that has an address of cases follows it, wherever it is clicked. */
function startLinks(follow) {
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href*='=']")
      ?? event.target.closest(".line, .runs tbody tr")?.querySelector("a[href*='=']");
    if (!link || getSelection().toString()) return;
    event.preventDefault();
    if (location.hash === link.getAttribute("href")) follow();
    else location.hash = link.getAttribute("href");
  });
}

async function startCases() {
  const payload = await unpack("case-data");
  const state = { ...payload, cases: layOut(payload), texts: false, opened: null };
  const form = byId("filters");
  const open = (one) => showPair(state, one);
  const refresh = () => {
    applyFilters(state, form);
    showRows(state, open);
  };
  const follow = () => {
    const { chosen, linked } = readAddress(state, form);
    if (chosen) refresh();
    if (linked) open(linked);
    else if (chosen) {
      byId("cases").scrollIntoView({ behavior: "instant" });
      (byId("rows").querySelector("button") ?? byId("title-cases")).focus({ preventScroll: true });
    }
  };
  fillForm(form, state);
  form.reset();
  if (state.start) form.view.value = state.start;
  form.addEventListener("input", () => {
    refresh();
    setAddress(state);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    form.reset();
    refresh();
    setAddress(state);
    form.querySelector("[name=view]").focus();
  });
  byId("more").addEventListener("click", () => {
    const from = state.size;
    state.size += MORE;
    showRows(state, open);
    byId("rows").children[from].firstChild.focus();
  });
  byId("selection").addEventListener("click", () =>
    download("casewise-cases.csv", csvText(selectionRows(state))));
  startWarning(state, refresh);
  startPair(state, open);
  refresh();
  byId("case-browser").hidden = false;
  startLinks(follow);
  return follow;
}

startTheme();
startSorting();
startPrint();
await startDownload();
// Once everything has its height.
(await startCases())();
document.documentElement.dataset.ready = "true";

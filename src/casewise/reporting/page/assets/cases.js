/** The cases: which of them the filters let through, their rows, and the pair that is open. */

const isNested = (value) => value !== null && typeof value === "object";

/** A context as nested lists of terms; what is not the same in `others` is marked. */
function contextList(context, others) {
  const entries = Object.entries(context).map(([key, value]) => {
    const there = others.map((other) => (isNested(other) ? other[key] : undefined));
    const differs = !isNested(value) && there.some((other) => other !== value);
    const text = make(differs ? "mark" : "span", {}, String(value ?? "–"));
    const note = differs ? make("span", { className: "unseen" }, " (differs)") : null;
    return make("div", { className: differs ? "differs" : "" },
      make("dt", {}, bdi(spaced(key)), note),
      make("dd", { dir: "auto" }, isNested(value) ? contextList(value, there) : text));
  });
  return make("dl", { className: "context" }, ...entries);
}

/** A label, and why it isn't what most of the votes say. */
function labelOf({ label, label_note: note }) {
  const word = label === null ? "no label" : { 1: "label: safe", 0: "label: unsafe" }[label] ?? "label: a tie";
  return note ? `${word} (${note})` : word;
}

const OUTCOMES = {
  right: "✓ right", wrong: "✗ wrong", partly: "½ partly", called: "calls a tool", unread: "not read",
  unlabelled: "–",
};

/** The parts that a case or a judgement has texts of, with their lengths. */
function lengths(one, names) {
  const known = names.filter((name) => one[`${name}_length`]);
  return known.map((name) => `${name} ${counted(one[`${name}_length`], "character")}`).join(", ");
}

/** What a judgement has texts of, in the order in which they are packed. */
const PARTS = ["answer", "explanation", "error"];

function answerRow(one, { runs, texts }, several) {
  const title = several ? `${runs[one.run].name}, sample ${one.epoch}` : runs[one.run].name;
  const told = lengths(one, PARTS);
  const said = make("td", {}, spaced(one.said ?? one.status));
  if (one.doubt) said.append(aside(`doubt ${shown(one.doubt, 2)}`));
  const row = make("tr", {},
    make("th", { scope: "row" }, bdi(title), texts || !told ? null : aside(told)), said,
    make("td", { className: "number" }, shown(one.p_safe)),
    make("td", { className: one.outcome }, OUTCOMES[one.outcome]));
  if (!texts || !told) return [row];
  const written = PARTS.flatMap((name, place) => (one.texts[place]
    ? [make("h5", {}, name), make("p", { className: "text", dir: "auto" }, one.texts[place])] : []));
  const fold = make("details", {}, make("summary", {}, "what it wrote"), ...written);
  return [row, make("tr", { className: "wrote" }, make("td", { colSpan: 4 }, fold))];
}

function answersTable(judgements, state) {
  const several = judgements.some((one) => one.epoch !== judgements[0].epoch);
  const heads = ["run", "says", "P(safe)", "by the label"].map((head) =>
    make("th", { scope: "col" }, head));
  return make("table", { className: "answers" }, make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...judgements.flatMap((one) => answerRow(one, state, several))));
}

/** The context (and earlier turns) of a case, or how long it is. */
function caseTexts(one, texts) {
  const none = one.no_context ? "Asked without a context." : "No context is known.";
  if (!texts) {
    const told = lengths(one, ["context", "history"]);
    return [make("p", { className: "aside" }, told ? `Withheld: ${told}.` : none)];
  }
  const parsed = (text) => JSON.parse(text ?? "null");
  const context = parsed(one.context);
  const others = one.pair.filter((other) => other !== one).map((other) => parsed(other.context));
  const turns = (parsed(one.history) ?? []).map((turn) => make("li", {}, aside(turn.role),
    make("p", { className: "text", dir: "auto" }, turn.content)));
  return [
    context ? contextList(context, others) : make("p", { className: "aside" }, none),
    ...(turns.length ? [make("h4", {}, "earlier turns"), make("ol", {}, ...turns)] : []),
  ];
}

function caseColumn(one, state, opened) {
  const told = one.judgements.filter(ofChosen(state.chosen));
  const others = one.judgements.length - told.length;
  const untold = one.no_context ? "Without a context" : "Intention not given";
  return make("article", { className: one === opened ? "opened" : "" },
    make("h3", {}, one.intended ? `Meant to be ${one.intended}` : untold),
    make("p", { className: "aside" }, make("code", {}, bdi(one.case_id))),
    make("p", {}, `${sentence(one.people)} ${sentence(labelOf(one))}`),
    make("h4", {}, "context"), ...caseTexts(one, state.texts),
    make("h4", {}, "answers"), told.length ? answersTable(told, state) : null,
    others ? make("p", { className: "aside" }, `${counted(others, "answer")} of other runs`) : null);
}

/** Answers of the chosen runs that are wrong or in a group, the furthest from people first. */
const toExplain = (one, chosen) => one.judgements.filter(ofChosen(chosen))
  .filter((each) => each.right === 0 || each.groups.length > 0)
  .sort((a, b) => (b.distance ?? 0) - (a.distance ?? 0));

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Why an answer stands where it does, in a sentence. */
function whyOf(one, { runs, deeds }) {
  const name = runs.length > 1 ? runs[one.run].name : "The model";
  const parts = [deeds[one.said] ?? "gave no answer"];
  if (one.p_safe !== null) parts.push(` at P(safe) ${shown(one.p_safe, 2)}`);
  const has = (name) => one.groups.includes(name);
  if (has("new") || has("mended")) parts.push(`, where the run before ${deeds[one.before]}`);
  if (one.distance !== null) parts.push(`, off by ${shown(one.distance, 2)}`);
  return `${name} ${parts.join("")}; ${NAMES[one.outcome]}.`;
}

/** Everything of a case and of those that share its query; answers of the chosen runs. */
function pairView(one, state) {
  const { texts } = state;
  const length = one.query_length
    ? `Query withheld: ${counted(one.query_length, "character")}.` : "The query is not known.";
  const whys = toExplain(one, state.chosen).slice(0, 10);
  return [
    make("p", { className: "aside" }, bdi(one.category)),
    texts && one.query ? make("blockquote", { className: "text", dir: "auto" }, one.query)
      : make("p", { className: "aside" }, length),
    make("p", {}, sentence(one.because)),
    make("ul", {}, ...whys.map((each) => make("li", {}, bdi(whyOf(each, state))))),
    make("div", { className: "columns" },
      ...one.pair.map((each) => caseColumn(each, state, one.pair.length > 1 ? one : null))),
  ];
}

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

const NAMES = { right: "right", wrong: "wrong", partly: "partly right", called: "calls a tool",
  unread: "not read", unlabelled: "without a label" };

/** Whether a judgement is of the chosen run: of any, where none is chosen. */
const ofChosen = ({ run }) => (one) => run === "" || one.run === Number(run);

/** Views besides the groups of failures: repeats that differ, answers not read. */
const VIEWS = {
  flips: ["Flips between repeats", (told) => told.some((one) => told.some((other) =>
    one.run === other.run && one.said && other.said && one.said !== other.said))],
  unread: ["Not read", (told) => told.some(({ outcome }) => outcome === "unread")],
};

function inView(view, told) {
  if (VIEWS[view]) return VIEWS[view][1](told);
  return view === "" || told.some(({ groups }) => groups.includes(view));
}

/** Which cases pass: every filter must let them through. */
function matching({ cases, texts, chosen }) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (one) => `${one.case_id}\n${one.category}\n${texts ? one.query ?? "" : ""}`.toLowerCase();
  return cases.filter((one) => {
    const told = one.judgements.filter(ofChosen(chosen));
    return (chosen.category === "" || one.category === chosen.category)
      && told.some(({ outcome }) => chosen.outcome === "" || outcome === chosen.outcome)
      && inView(chosen.view, told) && words.every((word) => text(one).includes(word));
  });
}

/** How far the chosen runs are from people, in answers of the view; the furthest is the smallest. */
function nearness(one, chosen) {
  const answers = one.judgements.filter(ofChosen(chosen));
  const told = answers.filter(VIEWS[chosen.view] || chosen.view === ""
    ? ({ right }) => right === 0 : ({ groups }) => groups.includes(chosen.view));
  if (told.length === 0) return 1;
  return -told.reduce((sum, { distance }) => sum + (distance ?? 0), 0) / answers.length;
}

/** Cases in the order of the data, or the furthest from people first. */
function sorted(cases, chosen) {
  const keyed = cases.map((one) => [chosen.sort ? one.place : nearness(one, chosen), one]);
  return keyed.sort(([a], [b]) => a - b).map(([, one]) => one);
}

/** Menus of what there is, and a tab for each group and view that has a case. */
function fillForm(form, { cases, runs, groups }) {
  const fill = (menu, options) => menu.append(...options.map(([value, text]) =>
    make("option", { value }, text)));
  const there = new Set(cases.flatMap((one) => one.judgements.map(({ outcome }) => outcome)));
  fill(form.category, [...new Set(cases.map((one) => one.category))].sort().map((name) => [name, name]));
  fill(form.run, runs.map((run, place) => [place, run.name]));
  fill(form.outcome, Object.entries(NAMES).filter(([name]) => there.has(name)));
  fill(form.sort, [["", "furthest first"], ["data", "order of the data"]]);
  const views = Object.entries(VIEWS).map(([name, [words]]) => [name, words])
    .filter(([name]) => cases.some((one) => inView(name, one.judgements)));
  form.querySelector(".views").append(...[["", "All cases"], ...groups, ...views].map(([value, words]) =>
    make("label", {}, make("input", { type: "radio", name: "view", value, defaultChecked: value === "" }),
      words, make("span", { className: "count" }))));
}

/** How the answers to a case went: numbers of each outcome, or the one answer. */
function tally(one, chosen) {
  const told = one.judgements.filter(ofChosen(chosen));
  if (told.length === 1) {
    const [{ said, status, p_safe: p, outcome }] = told;
    return make("span", { className: outcome }, OUTCOMES[outcome],
      said === null ? ` (${status})` : `, says ${spaced(said)}${p === null ? "" : `, P ${shown(p, 2)}`}`);
  }
  const counts = Object.entries(NAMES).map(([outcome, name]) =>
    [told.filter((each) => each.outcome === outcome).length, name]);
  return make("span", {}, counts.filter(([n]) => n).map((pair) => pair.join(" ")).join(", "));
}

function caseRow(one, state, open) {
  const { texts, chosen } = state;
  const name = texts && one.query ? make("bdi", { className: "query", dir: "auto" }, one.query)
    : make("code", {}, bdi(one.case_id));
  const [worst] = toExplain(one, chosen);
  const length = texts || !one.query_length ? "" : ` · query of ${counted(one.query_length, "character")}`;
  const button = make("button", { type: "button" },
    make("span", {}, name, aside(bdi(one.category), length),
      worst ? aside(`${sentence(one.people)} `, bdi(whyOf(worst, state))) : null),
    tally(one, chosen));
  button.dataset.case = one.case_id;
  button.addEventListener("click", () => open(one));
  return make("li", {}, button);
}

function showRows(state, open) {
  const { cases, found, size } = state;
  byId("rows").replaceChildren(...found.slice(0, size).map((one) => caseRow(one, state, open)));
  byId("matches").textContent = found.length === cases.length ? counted(cases.length, "case")
    : `${found.length.toLocaleString("en")} of ${counted(cases.length, "case")}`;
  byId("more").hidden = size >= found.length;
}

const NOTHING = { view: "", run: "", category: "", outcome: "", words: "", sort: "" };

function applyFilters(state, form) {
  state.chosen = { ...NOTHING, ...Object.fromEntries(new FormData(form)) };
  state.found = sorted(matching(state), state.chosen);
  state.size = FIRST;
  const answers = state.cases.map((one) => one.judgements.filter(ofChosen(state.chosen)));
  for (const input of form.querySelectorAll("[name=view]")) {
    const count = answers.filter((told) => told.length && inView(input.value, told)).length;
    input.parentElement.querySelector(".count").textContent = ` · ${count.toLocaleString("en")}`;
  }
  byId("clear").hidden = Object.values(state.chosen).every((value) => value === "");
}

/** The address holds what is chosen, and the case that is open: #view=over&run=1&case=ID. */
function setAddress({ chosen, opened }) {
  const parts = Object.entries(chosen).filter(([, value]) => value !== "");
  if (opened) parts.push(["case", opened.case_id]);
  const hash = new URLSearchParams(parts).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.href.replace(/#.*$/, ""));
}

function showPair(state, one) {
  const at = state.found.indexOf(one);
  state.opened = one;
  byId("pair-title").replaceChildren("Case ", bdi(one.case_id));
  byId("pair-body").replaceChildren(...pairView(one, state));
  byId("pair-before").disabled = at <= 0;
  byId("pair-after").disabled = at < 0 || at === state.found.length - 1;
  setAddress(state);
  if (!byId("pair").open) byId("pair").showModal();
  byId("pair-title").focus();
  byId("pair").scrollTop = 0;
}

function startPair(state, open) {
  const dialog = byId("pair");
  const step = (by) => () => {
    const at = state.found.indexOf(state.opened) + by;
    if (at >= state.size) {
      state.size += MORE;
      showRows(state, open);
    }
    open(state.found[at]);
  };
  byId("pair-before").addEventListener("click", step(-1));
  byId("pair-after").addEventListener("click", step(1));
  byId("pair-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    const id = state.opened.case_id;
    state.opened = null;
    setAddress(state);
    [...byId("rows").querySelectorAll("button")].find(({ dataset }) => dataset.case === id)?.focus();
  });
}

/** A row for each answer of the chosen runs to the cases that match, without texts. */
function selectionRows({ found, runs, chosen }) {
  return found.flatMap(({ judgements, pair, query, context, history, ...one }) => judgements
    .filter(ofChosen(chosen)).map(({ texts, groups, run, ...each }) =>
      ({ ...one, ...each, run: runs[run].name, groups: groups.join(" ") })));
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
  const change = () => {
    refresh();
    setAddress(state);
  };
  const follow = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    const names = Object.keys(NOTHING).filter((name) => said.has(name));
    const linked = state.cases.find((one) => one.case_id === said.get("case"));
    if (names.length) {
      form.reset();
      for (const name of names) form.elements[name].value = said.get(name);
      refresh();
    }
    if (linked) open(linked);
    else if (names.length) {
      byId("cases").scrollIntoView({ behavior: "instant" });
      (byId("rows").querySelector("button") ?? byId("title-cases")).focus({ preventScroll: true });
    }
  };
  fillForm(form, state);
  form.reset();
  if (state.start) form.view.value = state.start;
  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    form.reset();
    change();
    form.view[0].focus();
  });
  byId("more").addEventListener("click", () => {
    const from = state.size;
    state.size += MORE;
    showRows(state, open);
    byId("rows").children[from].firstChild.focus();
  });
  byId("selection").addEventListener("click", () =>
    download("casewise-cases.csv", selectionRows(state)));
  byId("texts")?.addEventListener("click", ({ target }) => {
    state.texts = !state.texts;
    target.textContent = `${state.texts ? "Hide" : "Show"} texts`;
    refresh();
  });
  startPair(state, open);
  refresh();
  byId("case-browser").hidden = false;
  addEventListener("hashchange", follow);
  return follow;
}

startSorting();
startDownload();
// Once everything has its height.
(await startCases())();
document.documentElement.dataset.ready = "true";

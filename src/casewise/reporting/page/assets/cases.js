/** The case browser: filters, pages of rows, and the pair that is open. */

const PAGE = 25;
const CHOSEN_PAGE = 1000;

/** Rows of a page: of cases that somebody chose, so many that each is one click away. */
const pageOf = ({ chosen: { sort, ...filters } }) => (hasChosen(filters) ? CHOSEN_PAGE : PAGE);

/** A menu's options: a text each, or [value, text]; the first lets everything through. */
function fillMenu(menu, all, options) {
  const pairs = [["", all], ...options.map((one) => (Array.isArray(one) ? one : [one, spaced(one)]))];
  menu.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  menu.disabled = options.length === 0;
}

const distinct = (values) => [...new Set(values)].filter((value) => value !== null);

function fillViews(form, { runs, groups }) {
  const views = [["", "All cases"], ...groups,
    ...(runs.length > 1 ? [["differs", "Differs between runs"]] : [])];
  const labels = views.map(([value, words]) => {
    const input = make("input", { type: "radio", name: "view", value, defaultChecked: value === "" });
    return make("label", {}, input, words, make("span", { className: "count" }));
  });
  form.querySelector(".views").append(...labels);
}

/** Beside each view, how many cases of the chosen runs it has. */
function countViews(state, form) {
  const ofRun = ofChosen(state.chosen);
  const answers = state.cases.map((one) => one.judgements.filter(ofRun));
  for (const input of form.querySelectorAll("[name=view]")) {
    const count = answers.filter((told) => inView(input.value, told, state.runs)).length;
    input.parentElement.querySelector(".count").textContent = ` · ${count.toLocaleString("en")}`;
  }
}

function fillFilters(form, state) {
  const { cases, runs, against } = state;
  const judgements = cases.flatMap((one) => one.judgements);
  const found = new Set(judgements.map((one) => one.outcome));
  const outcomes = [["right", "right"], ["wrong", "wrong"], ["partly", "partly right"],
    ["called", "calls a tool"], ["unread", "not read"], ["unlabelled", "without a label"]];
  fillMenu(form.category, "all categories", distinct(cases.map((one) => one.category)).sort()
    .map((name) => [name, name]));
  const names = runs.map((run, place) => [String(place), run.name]);
  fillMenu(form.run, "any run", names);
  fillMenu(form.beside, "no other", names.length > 1 ? names : []);
  fillMenu(form.sort, "furthest first", [["data", "order of the data"], ["id", "id"],
    ["category", "category"], ["p_safe", "P(safe)"], ["label", "label, unsafe first"],
    ["divided", "the most divided first"]]);
  fillViews(form, state);
  fillMenu(form.outcome, "any answer", outcomes.filter(([name]) => found.has(name)));
  fillMenu(form.quadrant, "any", distinct(judgements.map((one) => one.quadrant)).sort());
  for (const name of ["above", "most"]) {
    form.elements[name].disabled = judgements.every((one) => one.p_safe === null);
  }
  fillMenu(form.disagreement, "any", [["runs", "runs among each other"],
    ["label", `most answers against ${against}`], ...peopleOption(cases)]);
}

/** The choice of cases whose votes are divided, where there are votes or published rates. */
function peopleOption(cases) {
  if (cases.some(hasVotes)) return [["people", "people (less than 75 % agree)"]];
  const rated = cases.some((one) => safeShare(one) !== null);
  return rated ? [["people", "the published rate (between 25 and 75 %)"]] : [];
}

const TALLIED = { called: "tool call" };

/** How the answers to a case went: a bar and its numbers, or the chosen run's answer. */
function tally(one, chosen) {
  const told = one.judgements.filter(ofChosen(chosen));
  if (told.length === 1) {
    const [{ said, status, p_safe: p, outcome }] = told;
    const far = told[0].right === 0 && told[0].distance !== null
      ? `, off by ${shown(told[0].distance, 2)}` : "";
    const chance = (p === null ? "" : `, P ${shown(p, 2)}`) + far;
    return make("span", { className: "tally" },
      make("span", { className: `outcome ${outcome}` }, OUTCOMES[outcome]),
      ` says ${spaced(said ?? status)}${chance}`.replace("says unparsed", "(unparsed)"));
  }
  const counts = ["right", "partly", "wrong", "called", "unread", "unlabelled"]
    .map((name) => [name, told.filter((each) => each.outcome === name).length])
    .filter(([, count]) => count);
  return make("span", { className: "tally" }, shareBar(counts),
    counts.map(([name, count]) => `${count} ${TALLIED[name] ?? name}`).join(", "));
}

function caseRow(one, state, open) {
  const { texts } = state;
  const name = texts && one.query
    ? make("span", { className: "query" }, one.query) : make("code", {}, one.case_id);
  const meant = one.intended ? `, meant ${one.intended}` : one.no_context ? ", without a context" : "";
  const share = safeShare(one);
  const votes = hasVotes(one) ? `${percent(share)} say safe` : `rate ${percent(share)}`;
  const [worst] = toExplain(one, state.chosen);
  const several = state.runs.length > 1;
  const why = worst
    ? whyOf(one, worst, several ? state.runs[worst.run].name : "The model", state.deeds) : null;
  const button = make("button", { type: "button" },
    make("span", { className: "name" }, name,
      make("span", { className: "aside" }, `${one.category}${meant}`),
      one.label_note || one.label === 0.5
        ? make("span", { className: "aside" }, labelOf(one)) : null,
      why ? make("span", { className: "aside" }, `${sentence(one.people)} ${why}`) : null),
    make("span", { className: "people" }, share === null ? labelWord(one.label) : votes),
    tally(one, state.chosen));
  button.dataset.case = one.case_id;
  button.addEventListener("click", () => open(one));
  return make("li", {}, button);
}

/** Rows and their count for what the filters say. */
function showRows(state, open) {
  const { cases, found } = state;
  const size = pageOf(state);
  const last = Math.max(0, Math.ceil(found.length / size) - 1);
  state.page = Math.min(state.page, last);
  const from = state.page * size;
  byId("rows").replaceChildren(...found.slice(from, from + size).map((one) => caseRow(one, state, open)));
  byId("matches").textContent = found.length === cases.length
    ? counted(cases.length, "case")
    : `${found.length.toLocaleString("en")} of ${counted(cases.length, "case")}`;
  byId("pages").hidden = last === 0;
  byId("page-state").textContent = `page ${state.page + 1} of ${last + 1}`;
  byId("page-before").disabled = state.page === 0;
  byId("page-after").disabled = state.page === last;
}

const NOTHING = { view: "", run: "", beside: "", category: "", outcome: "", quadrant: "",
  disagreement: "", above: "", most: "", words: "", sort: "" };

const hasChosen = (chosen) => Object.values(chosen).some((value) => value !== "");

function applyFilters(state, form) {
  // A disabled menu (nothing to choose from) has no entry.
  state.chosen = { ...NOTHING, ...Object.fromEntries(new FormData(form)) };
  state.found = sorted(matching(state.cases, state.runs, { ...state.chosen, texts: state.texts }),
    state.chosen);
  state.page = 0;
  countViews(state, form);
  byId("clear").hidden = !hasChosen(state.chosen);
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
  const chosen = Object.keys(NOTHING).filter((name) => said.has(name));
  const linked = state.cases.find((one) => one.case_id === said.get("case")) ?? null;
  if (chosen.length) {
    form.reset();
    for (const name of chosen) form.elements[name].value = said.get(name);
  }
  return { chosen: chosen.length > 0, linked };
}

function showPair(state, one) {
  const at = state.found.indexOf(one);
  state.opened = one;
  byId("pair-title").textContent = `Case ${one.case_id}`;
  byId("pair-body").replaceChildren(...pairView(one, state));
  byId("pair-before").disabled = at <= 0;
  byId("pair-after").disabled = at < 0 || at === state.found.length - 1;
  setAddress(state);
  if (!byId("pair").open) byId("pair").showModal();
  byId("pair-title").focus();
  byId("pair").scrollTop = 0;
}

function leavePair(state) {
  const { opened } = state;
  state.opened = null;
  setAddress(state);
  const row = [...byId("rows").querySelectorAll("button")]
    .find((button) => button.dataset.case === opened?.case_id);
  row?.focus();
}

function stepPair(state, by, open) {
  const at = state.found.indexOf(state.opened) + by;
  if (at < 0 || at >= state.found.length) return;
  const page = Math.floor(at / pageOf(state));
  if (page !== state.page) {
    state.page = page;
    showRows(state, open);
  }
  showPair(state, state.found[at]);
}

/** The content warning: texts are shown after it was accepted, and until they are hidden. */
function startWarning(state, refresh) {
  const [button, dialog] = [byId("texts"), byId("warning")];
  if (!button) return;
  const set = (texts) => {
    state.texts = texts;
    byId("texts-state").textContent = texts
      ? "Queries, contexts and replies are shown." : "Queries, contexts and replies are hidden.";
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

function startPair(state, open) {
  const dialog = byId("pair");
  byId("pair-before").addEventListener("click", () => stepPair(state, -1, open));
  byId("pair-after").addEventListener("click", () => stepPair(state, 1, open));
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

function startPages(state, open) {
  const turn = (by) => () => {
    state.page += by;
    showRows(state, open);
    byId("rows").querySelector("button")?.focus();
  };
  byId("page-before").addEventListener("click", turn(-1));
  byId("page-after").addEventListener("click", turn(1));
}

/** A row for each answer of the chosen runs to the cases that match; texts if they are shown. */
function selectionRows({ found, runs, chosen, texts }) {
  return found.flatMap((one) => one.judgements.filter(ofChosen(chosen)).map((each) => ({
    case_id: one.case_id, query_id: one.query_id, category: one.category, intended: one.intended,
    label: one.label, label_note: one.label_note, rate: one.rate,
    votes_safe: one.votes_safe, votes_unsafe: one.votes_unsafe,
    run: runs[each.run].name, epoch: each.epoch, status: each.status, said: each.said,
    p_safe: each.p_safe, doubt: each.doubt, right: each.right, outcome: each.outcome, pair: each.quadrant,
    distance: each.distance, groups: each.groups.join(" "),
    ...(texts ? { query: one.query, answer: each.texts[0], explanation: each.texts[1] } : {}),
  })));
}

/** Bring the list to the reader: its heading in view, the keyboard on its first case. */
function showFirst() {
  byId("cases").scrollIntoView({ behavior: "instant" });
  (byId("rows").querySelector("button") ?? byId("title-cases")).focus({ preventScroll: true });
}

/** Every row, line and mark that has an address of cases follows it, wherever it is clicked. */
function startLinks(follow) {
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href*='=']");
    const part = event.target.closest("[data-cases], .line, .figures tbody tr");
    const to = link?.getAttribute("href") ?? part?.dataset.cases
      ?? part?.querySelector("a[href*='=']")?.getAttribute("href");
    if (!to || to[0] !== "#" || getSelection().toString()) return;
    event.preventDefault();
    goTo(to, follow);
  });
}

/** Follow an address of cases, also one that stands in the bar already. */
function goTo(to, follow) {
  if (location.hash === to) follow();
  else location.hash = to;
}

async function startCases() {
  const payload = await unpack("case-data");
  const state = { ...payload, cases: layOut(payload), texts: false, page: 0, opened: null };
  const form = byId("filters");
  const open = (one) => showPair(state, one);
  const refresh = () => {
    applyFilters(state, form);
    showRows(state, open);
  };
  const follow = () => {
    const { chosen, linked } = readAddress(state, form);
    if (chosen) refresh();
    if (chosen && !linked) showFirst();
    if (linked) open(linked);
  };
  fillFilters(form, state);
  form.reset();
  form.addEventListener("input", () => {
    refresh();
    setAddress(state);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    form.reset();
    refresh();
    setAddress(state);
    form.run.focus();
  });
  byId("selection").addEventListener("click", () =>
    download("casewise-cases.csv", csvText(selectionRows(state))));
  startWarning(state, refresh);
  startPair(state, open);
  startPages(state, open);
  refresh();
  byId("case-browser").hidden = false;
  startLinks(follow);
  return follow;
}

/** The case browser: filters, pages of rows, and the pair that is open. */

const PAGE = 25;

/** A menu's options: a text each, or [value, text]; the first lets everything through. */
function fillMenu(menu, all, options) {
  const pairs = [["", all], ...options.map((one) => (Array.isArray(one) ? one : [one, spaced(one)]))];
  menu.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
  menu.disabled = options.length === 0;
}

const distinct = (values) => [...new Set(values)].filter((value) => value !== null);

function fillFilters(form, { cases, runs, against }) {
  const judgements = cases.flatMap((one) => one.judgements);
  const found = new Set(judgements.map((one) => one.outcome));
  const outcomes = [["right", "right"], ["wrong", "wrong"], ["partly", "partly right"],
    ["unread", "not read"], ["unlabelled", "without a label"]];
  fillMenu(form.category, "all categories", distinct(cases.map((one) => one.category)).sort()
    .map((name) => [name, name]));
  fillMenu(form.run, "any run", runs.map((run, place) => [String(place), run.name]));
  fillMenu(form.outcome, "any answer", outcomes.filter(([name]) => found.has(name)));
  fillMenu(form.quadrant, "any", distinct(judgements.map((one) => one.quadrant)).sort());
  fillMenu(form.disagreement, "any", [["runs", "runs among each other"],
    ["label", `most answers against ${against}`], ...peopleOption(cases)]);
}

/** The choice of cases whose votes are divided, where there are votes or published rates. */
function peopleOption(cases) {
  if (cases.some(hasVotes)) return [["people", "people (less than 75 % agree)"]];
  const rated = cases.some((one) => safeShare(one) !== null);
  return rated ? [["people", "the published rate (between 25 and 75 %)"]] : [];
}

/** How the answers to a case went: a bar and its numbers, or the chosen run's answer. */
function tally(one, run) {
  const told = one.judgements.filter((each) => run === "" || each.run === Number(run));
  if (told.length === 1) {
    const [{ said, status, p_safe: p, outcome }] = told;
    const chance = p === null ? "" : `, P ${shown(p)}`;
    return make("span", { className: "tally" },
      make("span", { className: `outcome ${outcome}` }, OUTCOMES[outcome]),
      ` says ${spaced(said ?? status)}${chance}`.replace("says unparsed", "(unparsed)"));
  }
  const counts = ["right", "partly", "wrong", "unread", "unlabelled"]
    .map((name) => [name, told.filter((each) => each.outcome === name).length])
    .filter(([, count]) => count);
  return make("span", { className: "tally" }, shareBar(counts),
    counts.map(([name, count]) => `${count} ${name}`).join(", "));
}

function caseRow(one, state, open) {
  const { texts } = state;
  const name = texts && one.query
    ? make("span", { className: "query" }, one.query) : make("code", {}, one.case_id);
  const meant = one.intended ? `, meant ${one.intended}` : "";
  const share = safeShare(one);
  const percent = `${Math.round(share * 100)} %`;
  const votes = hasVotes(one) ? `${percent} say safe` : `rate ${percent}`;
  const button = make("button", { type: "button" },
    make("span", { className: "name" }, name,
      make("span", { className: "aside" }, `${one.category}${meant}`)),
    make("span", { className: "people" }, share === null ? labelWord(one.label) : votes),
    tally(one, state.chosen.run));
  button.dataset.case = one.case_id;
  button.addEventListener("click", () => open(one));
  return make("li", {}, button);
}

/** Rows and their count for what the filters say. */
function showRows(state, open) {
  const { cases, found } = state;
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  state.page = Math.min(state.page, last);
  const from = state.page * PAGE;
  byId("rows").replaceChildren(...found.slice(from, from + PAGE).map((one) => caseRow(one, state, open)));
  byId("matches").textContent = found.length === cases.length
    ? counted(cases.length, "case")
    : `${found.length.toLocaleString("en")} of ${counted(cases.length, "case")}`;
  byId("pages").hidden = last === 0;
  byId("page-state").textContent = `page ${state.page + 1} of ${last + 1}`;
  byId("page-before").disabled = state.page === 0;
  byId("page-after").disabled = state.page === last;
}

function applyFilters(state, form) {
  const chosen = Object.fromEntries(new FormData(form));
  // A disabled menu (nothing to choose from) has no entry.
  state.chosen = { category: "", run: "", outcome: "", quadrant: "", disagreement: "", ...chosen };
  state.found = matching(state.cases, state.runs, { ...state.chosen, texts: state.texts });
  state.page = 0;
  byId("clear").hidden = Object.values(state.chosen).every((value) => value === "");
}

/** The case that the address asks for: #case=ID. */
function linkedCase(cases) {
  const link = /^#case=(.+)$/.exec(location.hash);
  if (!link) return null;
  const id = decoded(link[1]);
  return cases.find((one) => one.case_id === id) ?? null;
}

/** An address may hold a stray percent sign. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const setLink = (hash) =>
  history.replaceState(null, "", hash || location.href.replace(/#.*$/, ""));

function showPair(state, one) {
  const at = state.found.indexOf(one);
  state.opened = one;
  byId("pair-title").textContent = `Case ${one.case_id}`;
  byId("pair-body").replaceChildren(...pairView(one, state.runs, state.texts));
  byId("pair-before").disabled = at <= 0;
  byId("pair-after").disabled = at < 0 || at === state.found.length - 1;
  setLink(`#case=${encodeURIComponent(one.case_id)}`);
  if (!byId("pair").open) byId("pair").showModal();
  byId("pair-title").focus();
  byId("pair").scrollTop = 0;
}

function leavePair(state) {
  const { opened } = state;
  state.opened = null;
  setLink("");
  const row = [...byId("rows").querySelectorAll("button")]
    .find((button) => button.dataset.case === opened?.case_id);
  row?.focus();
}

function stepPair(state, by, open) {
  const at = state.found.indexOf(state.opened) + by;
  if (at < 0 || at >= state.found.length) return;
  const page = Math.floor(at / PAGE);
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
  byId("pair-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => leavePair(state));
  // A click outside the dialog's content lands on the dialog itself.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  addEventListener("hashchange", () => {
    const linked = linkedCase(state.cases);
    if (linked) open(linked);
  });
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

async function startCases() {
  const payload = await unpack("case-data");
  const state = { ...payload, cases: layOut(payload), texts: false, page: 0, opened: null };
  const form = byId("filters");
  const open = (one) => showPair(state, one);
  const refresh = () => {
    applyFilters(state, form);
    showRows(state, open);
  };
  fillFilters(form, state);
  form.reset();
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    form.reset();
    refresh();
    form.category.focus();
  });
  startWarning(state, refresh);
  startPair(state, open);
  startPages(state, open);
  refresh();
  byId("case-browser").hidden = false;
  const linked = linkedCase(state.cases);
  if (linked) open(linked);
}

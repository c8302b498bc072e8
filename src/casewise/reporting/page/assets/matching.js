/** Cases and judgements as objects, and which cases the filters let through. */

/** Less agreement than this among people is disagreement, as the label rule consensus has it. */
const AGREED = 0.75;

/** Columns to rows; a coded column holds its words once. */
function rowsOf(columns) {
  const names = Object.keys(columns);
  const read = names.map((name) => reader(columns[name]));
  const length = names.length ? lengthOf(columns[names[0]]) : 0;
  return Array.from({ length }, (_, at) =>
    Object.fromEntries(names.map((name, place) => [name, read[place](at)])));
}

const reader = (column) => (Array.isArray(column)
  ? (at) => column[at]
  : (at) => column.words[column.places[at]] ?? null);
const lengthOf = (column) => (Array.isArray(column) ? column : column.places).length;

/** Cases with their judgements, their place and their query's other cases. */
function layOut(payload) {
  const cases = rowsOf(payload.cases);
  const queries = new Map();
  cases.forEach((one, place) => {
    Object.assign(one, { place, judgements: [], category: one.category ?? "–" });
    const query = one.query_id ?? `case ${one.case_id}`;
    queries.set(query, [...(queries.get(query) ?? []), one]);
    one.pair = query;
  });
  for (const one of cases) one.pair = queries.get(one.pair);
  const members = new Map(payload.judgements.groups.words.map((one) => [one, one.split(" ")]));
  for (const one of rowsOf(payload.judgements)) {
    one.outcome = outcomeOf(one);
    one.groups = members.get(one.groups) ?? [];
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

/** Whether runs disagree on a case: some are right where others are not; on ties, by word. */
function runsDisagree({ judgements, label }, runs) {
  const read = judgements.filter((one) => one.said !== null);
  const tied = label === null || label === 0.5;
  const voices = (acts) => new Set(read.filter((one) => runs[one.run].acts === acts)
    .map((one) => one.said));
  if (tied) return voices(true).size > 1 || voices(false).size > 1;
  return new Set(read.map((one) => one.right)).size > 1;
}

/** Whether most of the answers that were read are against the label. */
function againstLabel(judgements) {
  const marks = judgements.map((one) => one.right).filter((right) => right !== null);
  return marks.length > 0 && marks.reduce((sum, one) => sum + one, 0) / marks.length < 0.5;
}

const hasVotes = ({ votes_safe: safe, votes_unsafe: unsafe }) => safe !== null && safe + unsafe > 0;

/** The share of votes that call a case safe, else the published rate; null without either. */
function safeShare(one) {
  return hasVotes(one) ? one.votes_safe / (one.votes_safe + one.votes_unsafe) : one.published_safe_rate;
}

function peopleDisagree(one) {
  const share = safeShare(one);
  return share !== null && Math.max(share, 1 - share) < AGREED;
}

/** Whether a judgement is of the chosen runs: of all, where none is chosen. */
const ofChosen = ({ run, beside }) => {
  const places = [run, beside].filter((one) => one !== "").map(Number);
  return (one) => places.length === 0 || places.includes(one.run);
};

/** Whether the chosen runs say different things; judging and acting are different questions. */
function differs(judgements, runs) {
  const voices = (acts) => new Set(judgements
    .filter((one) => one.said !== null && runs[one.run].acts === acts).map((one) => one.said));
  return voices(true).size > 1 || voices(false).size > 1;
}

/** Whether a case is in a view: a group of failures, those on which runs differ, or all. */
function inView(view, judgements, runs) {
  if (view === "") return true;
  if (view === "differs") return differs(judgements, runs);
  return judgements.some((one) => one.groups.includes(view));
}

/** Whether a probability is in a bin, which leaves out its lower end unless that is 0. */
function inBin(p, { above, most }) {
  if (above === "" && most === "") return true;
  const low = Number(above || 0);
  return p !== null && (p > low || (p === 0 && low === 0)) && p <= Number(most || 1);
}

/** Which cases pass: each chosen thing must hold, those of answers of one and the same answer. */
function matching(cases, runs, chosen) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const ofRun = ofChosen(chosen);
  const fits = (one) => ofRun(one)
    && (chosen.outcome === "" || one.outcome === chosen.outcome)
    && (chosen.quadrant === "" || one.quadrant === chosen.quadrant)
    && inBin(one.p_safe, chosen);
  const disagrees = {
    "": () => true,
    runs: (one) => runsDisagree(one, runs),
    label: (one) => againstLabel(one.judgements.filter(ofRun)),
    people: peopleDisagree,
  }[chosen.disagreement];
  return cases.filter((one) => (chosen.category === "" || one.category === chosen.category)
    && one.judgements.some(fits)
    && inView(chosen.view, one.judgements.filter(ofRun), runs)
    && disagrees(one)
    && words.every((word) => searchText(one, chosen.texts).includes(word)));
}

/** Answers of a view that is a group; else those that count as wrong. */
const ofView = (view) => (view === "" || view === "differs"
  ? (one) => one.right === 0 : (one) => one.groups.includes(view));

/** How far the chosen runs are from people, in answers of the view; the furthest is the smallest. */
function nearness(one, ofRun, view) {
  const answers = one.judgements.filter(ofRun);
  const told = answers.filter(ofView(view));
  if (told.length === 0) return 1;
  if (view === "doubt") return -Math.max(...told.map((each) => each.doubt));
  return -told.reduce((sum, each) => sum + (each.distance ?? 0), 0) / answers.length;
}

/** Orders of cases: each gives a number or a word, the smallest first. */
const ORDERS = {
  "": nearness,
  data: (one) => one.place,
  id: (one) => one.case_id,
  category: (one) => one.category,
  label: (one) => one.rate ?? 2,
  divided: (one) => Math.abs((safeShare(one) ?? 2) - 0.5),
  p_safe: (one, ofRun) => mean(one.judgements.filter(ofRun).map((each) => each.p_safe)),
};

/** The mean of what is known; what is unknown comes last. */
function mean(values) {
  const there = values.filter((one) => one !== null);
  return there.length ? there.reduce((sum, one) => sum + one, 0) / there.length : 2;
}

function sorted(cases, chosen) {
  const order = ORDERS[chosen.sort];
  const keyed = cases.map((one) => [order(one, ofChosen(chosen), chosen.view), one]);
  const less = ([a], [b]) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return keyed.sort(less).map(([, one]) => one);
}

const searchText = (one, texts) =>
  [one.case_id, one.category, texts ? one.query ?? "" : ""].join("\n").toLowerCase();

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
  for (const one of rowsOf(payload.judgements)) {
    one.outcome = outcomeOf(one);
    one.mistake = mistakeOf(one, cases[one.case].label);
    cases[one.case].judgements.push(one);
  }
  return cases;
}

/** What was said where the label is the other thing: safe (under-caution) or unsafe (over-). */
function mistakeOf({ said }, label) {
  if (label === 0 && (said === "safe" || said === "compliance")) return "under";
  return label === 1 && (said === "unsafe" || said === "refusal") ? "over" : null;
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

/** The views: cases by the direction of a mistake, and those on which runs differ. */
const VIEWS = {
  "": () => true,
  under: (judgements) => judgements.some((one) => one.mistake === "under"),
  over: (judgements) => judgements.some((one) => one.mistake === "over"),
  differs,
};

/** Which cases pass: each chosen thing must hold, those of answers of one and the same answer. */
function matching(cases, runs, chosen) {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const ofRun = ofChosen(chosen);
  const fits = (one) => ofRun(one)
    && (chosen.outcome === "" || one.outcome === chosen.outcome)
    && (chosen.quadrant === "" || one.quadrant === chosen.quadrant);
  const disagrees = {
    "": () => true,
    runs: (one) => runsDisagree(one, runs),
    label: (one) => againstLabel(one.judgements.filter(ofRun)),
    people: peopleDisagree,
  }[chosen.disagreement];
  return cases.filter((one) => (chosen.category === "" || one.category === chosen.category)
    && one.judgements.some(fits)
    && VIEWS[chosen.view](one.judgements.filter(ofRun), runs)
    && disagrees(one)
    && words.every((word) => searchText(one, chosen.texts).includes(word)));
}

/** Orders of cases: each gives a number or a word, the smallest first. */
const ORDERS = {
  id: (one) => one.case_id,
  category: (one) => one.category,
  label: (one) => one.rate ?? 2,
  divided: (one) => Math.abs((safeShare(one) ?? 2) - 0.5),
  p_safe: (one, ofRun) => mean(one.judgements.filter(ofRun).map((each) => each.p_safe)),
  wrong: (one, ofRun) => mean(one.judgements.filter(ofRun).map((each) => each.right)),
};

/** The mean of what is known; what is unknown comes last. */
function mean(values) {
  const there = values.filter((one) => one !== null);
  return there.length ? there.reduce((sum, one) => sum + one, 0) / there.length : 2;
}

function sorted(cases, chosen) {
  const order = ORDERS[chosen.sort];
  if (!order) return cases;
  const keyed = cases.map((one) => [order(one, ofChosen(chosen)), one]);
  const less = ([a], [b]) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return keyed.sort(less).map(([, one]) => one);
}

const searchText = (one, texts) =>
  [one.case_id, one.category, texts ? one.query ?? "" : ""].join("\n").toLowerCase();

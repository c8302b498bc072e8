/** The cases of one query side by side. */

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

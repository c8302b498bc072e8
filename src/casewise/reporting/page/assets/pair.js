/** The cases of one query side by side. */

const isNested = (value) => value !== null && typeof value === "object";

/** Where a value stands among those of the other contexts: the same path, level by level. */
const inside = (values, key) => values.map((value) => (isNested(value) ? value[key] : undefined));

/** A context as nested lists of terms; what is not the same in `others` is marked. */
function contextList(context, others) {
  return make("dl", { className: "context" }, ...Object.entries(context).map(([key, value]) =>
    contextEntry(spaced(key), value, inside(others, key))));
}

function contextEntry(name, value, others) {
  if (isNested(value)) {
    return make("div", {}, make("dt", {}, make("bdi", {}, name)), make("dd", {}, contextList(value, others)));
  }
  const differs = others.some((other) => other !== value);
  const text = String(value ?? "–");
  const note = differs ? make("span", { className: "unseen" }, " (differs)") : null;
  const twin = others.length === 1 && typeof others[0] === "string" ? others[0] : "";
  const pieces = differs ? marked(text, twin) : [text];
  const className = differs && pieces.length === 1 ? "whole" : "";
  return make("div", { className: differs ? "differs" : "" },
    make("dt", {}, make("bdi", {}, name), note), make("dd", { className, dir: "auto" }, ...pieces));
}

/** Fewer shared words than this, and a text is another one rather than a changed one. */
const ALIKE = 0.5;
const MOST_WORDS = 300;

/** A text that differs: the words that its twin lacks are marked, or all where few are shared. */
function marked(text, twin) {
  const [words, others] = [text, twin].map((one) => one.split(/(?<=\s)(?=\S)/));
  if (Math.max(words.length, others.length) > MOST_WORDS) return [make("mark", {}, text)];
  const kept = sharedWords(words, others);
  if (kept.size < ALIKE * Math.max(words.length, others.length)) return [make("mark", {}, text)];
  return words.map((word, place) => (kept.has(place) ? word : make("mark", {}, word)));
}

/** The places of the words in the longest common subsequence of two texts. */
function sharedWords(words, others) {
  const same = (at, to) => words[at].trim() === others[to].trim();
  const longest = Array.from({ length: words.length + 1 }, () => Array(others.length + 1).fill(0));
  for (let at = words.length - 1; at >= 0; at -= 1) {
    for (let to = others.length - 1; to >= 0; to -= 1) {
      longest[at][to] = same(at, to)
        ? longest[at + 1][to + 1] + 1 : Math.max(longest[at + 1][to], longest[at][to + 1]);
    }
  }
  const kept = new Set();
  for (let at = 0, to = 0; at < words.length && to < others.length;) {
    if (same(at, to)) {
      kept.add(at);
      at += 1;
      to += 1;
    } else if (longest[at + 1][to] >= longest[at][to + 1]) at += 1;
    else to += 1;
  }
  return kept;
}

/** Votes as numbers and a bar; the published share where single votes are unknown. */
function votesOf(one) {
  const share = safeShare(one);
  if (share === null) return make("p", { className: "votes" }, "no votes");
  const { votes_safe: safe, votes_unsafe: unsafe } = one;
  const words = hasVotes(one)
    ? `${safe} safe, ${unsafe} unsafe` : `published safe rate ${percent(share)}`;
  return make("p", { className: "votes" }, shareBar([["safe", share], ["unsafe", 1 - share]]), words);
}

/** A bar of shares, for the eyes only: the numbers stand beside it. */
function shareBar(parts) {
  const bar = make("span", { className: "bar", ariaHidden: "true" });
  for (const [name, share] of parts.filter((part) => part[1] > 0)) {
    const piece = make("span", { className: name });
    piece.style.flexGrow = share;
    bar.append(piece);
  }
  return bar;
}

const labelWord = (label) =>
  (label === null ? "no label" : { 1: "label: safe", 0: "label: unsafe" }[label] ?? "label: a tie");

/** A label, and why it isn't what most of the votes say. */
const labelOf = ({ label, label_note: note }) =>
  (note ? `${labelWord(label)} (${note})` : labelWord(label));

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

function answerRow(one, runs, texts, several) {
  const title = several ? `${runs[one.run].name}, sample ${one.epoch}` : runs[one.run].name;
  const name = make("th", { scope: "row" }, make("bdi", {}, title));
    const told = lengths(one, PARTS);
  if (!texts && told) name.append(make("span", { className: "aside" }, told));
  const said = make("td", {}, one.said === null ? spaced(one.status) : spaced(one.said));
  if (one.doubt) said.append(make("span", { className: "aside" }, `doubt ${shown(one.doubt, 2)}`));
  const row = make("tr", {}, name, said,
    make("td", { className: "number" }, shown(one.p_safe)),
    make("td", { className: `outcome ${one.outcome}` }, OUTCOMES[one.outcome]));
  return texts && told ? [row, textRow(one)] : [row];
}

function textRow(one) {
  const texts = PARTS.map((name, place) => [name, one.texts[place]]).filter(([, text]) => text)
    .map(([name, text]) => [make("h5", {}, name), make("p", { className: "text", dir: "auto" }, text)]);
  const fold = make("details", {}, make("summary", {}, "what it wrote"), ...texts.flat());
  return make("tr", { className: "wrote" }, make("td", { colSpan: 4 }, fold));
}

function answersTable(judgements, runs, texts) {
  const heads = [["run"], ["says"], ["P(safe)", "number"], ["by the label"]];
  const several = judgements.some((one) => one.epoch !== judgements[0].epoch);
  return make("table", { className: "answers" },
    make("thead", {}, make("tr", {}, ...heads.map(([head, className = ""]) =>
      make("th", { scope: "col", className }, head)))),
    make("tbody", {}, ...judgements.flatMap((one) => answerRow(one, runs, texts, several))));
}

const parsed = (text) => (text === null || text === undefined ? null : JSON.parse(text));

function historyList(turns) {
  return make("ol", { className: "history" }, ...turns.map((turn) => make("li", {},
    make("span", { className: "aside" }, turn.role), make("p", { className: "text", dir: "auto" }, turn.content))));
}

function noContext(one) {
  return one.no_context ? "Asked without a context." : "No context is known.";
}

/** The context (and earlier turns) of a case, or how long it is. */
function caseTexts(one, texts) {
  if (!texts) {
    const told = lengths(one, ["context", "history"]);
    return [make("p", { className: "withheld" }, told ? `Withheld: ${told}.` : noContext(one))];
  }
  const context = parsed(one.context);
  const others = one.pair.filter((other) => other !== one).map((other) => parsed(other.context));
  const turns = parsed(one.history) ?? [];
  return [
    context ? contextList(context, others) : make("p", { className: "withheld" }, noContext(one)),
    ...(turns.length ? [make("h4", {}, "earlier turns"), historyList(turns)] : []),
  ];
}

function caseColumn(one, { runs, texts, chosen }, opened) {
  const shown = one.judgements.filter(ofChosen(chosen));
  const others = one.judgements.length - shown.length;
  const aside = one.no_context ? "Without a context" : "Intention not given";
  const heading = one.intended ? `Meant to be ${one.intended}` : aside;
  return make("article", { className: one === opened ? "opened" : "" },
    make("h3", {}, heading),
    make("p", { className: "aside" }, make("code", {}, make("bdi", {}, one.case_id))),
    make("p", { className: "label" }, labelOf(one)),
    votesOf(one),
    make("h4", {}, "context"),
    ...caseTexts(one, texts),
    make("h4", {}, "answers"),
    shown.length ? answersTable(shown, runs, texts) : null,
    others ? make("p", { className: "aside" }, `${counted(others, "answer")} of other runs`) : null);
}

/** Why the answers of the chosen runs stand where they do: a sentence each, the furthest first. */
const MOST_WHYS = 10;

function whyList(one, { runs, chosen, deeds }) {
  const told = toExplain(one, chosen);
  const several = runs.length > 1;
  const lines = told.slice(0, MOST_WHYS).map((each) =>
    make("li", {}, make("bdi", {}, whyOf(one, each, several ? runs[each.run].name : "The model", deeds))));
  const more = told.length - lines.length;
  return make("div", { className: "why" },
    make("p", {}, `${sentence(one.differs)} ${sentence(one.people)} ${sentence(one.because)}`),
    lines.length ? make("ul", {}, ...lines) : null,
    more > 0 ? make("p", { className: "aside" }, `and ${counted(more, "answer")} more`) : null);
}

/** Answers of the chosen runs that are wrong or in a group, the furthest from people first. */
const toExplain = (one, chosen) => one.judgements.filter(ofChosen(chosen))
  .filter((each) => each.right === 0 || each.groups.length > 0)
  .sort((a, b) => (b.distance ?? 0) - (a.distance ?? 0));

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

function whyOf(one, each, name, deeds) {
  const chance = each.p_safe === null ? "" : ` at P(safe) ${shown(each.p_safe, 2)}`;
  const before = each.groups.includes("new") || each.groups.includes("mended")
    ? `, where the run before ${deeds[each.before]}` : "";
  const judged = each.groups.includes("judge-act") ? `, and as a judge ${deeds[each.judged]}` : "";
  const far = each.distance === null ? "" : `, off by ${shown(each.distance, 2)}`;
  const wrong = each.right === 0 ? "; wrong" : each.right === 1 ? "; right" : "";
  return `${name} ${deeds[each.said] ?? "gave no answer"}${chance}${before}${judged}${far}${wrong}.`;
}

/** Everything of a case and of those that share its query; answers of the chosen runs. */
function pairView(one, state) {
  const { texts } = state;
  const query = texts && one.query
    ? make("blockquote", { className: "text", dir: "auto" }, one.query)
    : make("p", { className: "withheld" }, one.query_length
      ? `Query withheld: ${counted(one.query_length, "character")}.` : "The query is not known.");
  const note = one.pair.length === 1
    ? "The only case with this query."
    : texts && "≠ stands by what differs between the contexts; the words that differ are marked.";
  return [
    make("p", { className: "aside" }, make("bdi", {}, one.category)),
    query,
    note ? make("p", { className: "aside" }, note) : null,
    whyList(one, state),
    make("div", { className: "columns" }, ...one.pair.map((each) =>
      caseColumn(each, state, one.pair.length > 1 ? one : null))),
  ].filter(Boolean);
}

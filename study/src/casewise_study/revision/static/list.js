/** The list of pairs, filtered in the browser: what is looked for stands in no address. */

import { author, draftName, everyPair, kept } from "./api.js";
import { byId, counted, make, tell } from "./dom.js";

const STEP = 50;
const form = byId("filters");
const FILTERS = ["status", "voted", "category", "words"];
let pairs = [];
let shown = STEP;

const stored = () => {
  try {
    return JSON.parse(sessionStorage.getItem("casewise:filters")) ?? {};
  } catch {
    return {};
  }
};

function chosen() {
  return Object.fromEntries(FILTERS.map((name) => [name, form.elements[name].value]));
}

function matching() {
  const { status, voted, category, words } = chosen();
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return pairs.filter((one) => (!status || one.status === status)
    && (!voted || one.voted === (voted === "yes"))
    && (!category || one.category === category)
    && wanted.every((word) => `${one.query} ${one.category ?? ""}`.toLowerCase().includes(word)));
}

function row(one) {
  const chips = [
    make("span", { className: `chip ${one.status}` }, one.status),
    one.voted ? make("span", { className: "chip" }, "votes") : null,
    one.version > 1 ? make("span", { className: "chip" }, `version ${one.version}`) : null,
    kept.read(draftName(one.key)) ? make("span", { className: "chip draft" }, "draft") : null,
  ];
  const facts = [one.category, counted(one.cases, "case"), one.cases > 1 ? `${counted(one.differing, "parameter")} differ${one.differing === 1 ? "s" : ""}` : null,
    one.revisions ? counted(one.revisions, "revision") : null].filter(Boolean).join(" · ");
  return make("li", {}, make("a", { href: `/pairs/${one.key}` },
    make("span", { className: "number" }, String(one.number)),
    make("span", { className: "query" }, one.query, make("span", { className: "aside" }, facts)),
    make("span", { className: "chips" }, ...chips)));
}

function draw() {
  const found = matching();
  byId("rows").replaceChildren(...found.slice(0, shown).map(row));
  byId("more").hidden = found.length <= shown;
  byId("clear").hidden = Object.values(chosen()).every((value) => !value);
  tell(byId("matches"), `${counted(found.length, "pair")}${found.length < pairs.length ? ` of ${pairs.length}` : ""}`);
}

form.addEventListener("input", () => {
  shown = STEP;
  try {
    sessionStorage.setItem("casewise:filters", JSON.stringify(chosen()));
  } catch { /* The filters are forgotten, no more. */ }
  draw();
});
form.addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", () => {
  form.reset();
  form.dispatchEvent(new Event("input"));
  form.elements.words.focus();
});
byId("more").addEventListener("click", () => {
  const before = byId("rows").children.length;
  shown += STEP;
  draw();
  byId("rows").children[before]?.querySelector("a").focus();
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, select, textarea") && kept.read("keys") !== false) {
    event.preventDefault();
    form.elements.words.focus();
  }
});

byId("who").textContent = author.get();
try {
  const told = await everyPair();
  pairs = told.pairs;
  byId("bar").max = Math.max(told.total, 1);
  byId("bar").value = told.decided;
  tell(byId("counts"), `${told.decided} of ${told.total} pairs decided`);
  const categories = [...new Set(pairs.map((one) => one.category).filter(Boolean))].sort();
  form.elements.category.append(...categories.map((name) => make("option", {}, name)));
  for (const [name, value] of Object.entries(stored())) if (FILTERS.includes(name)) form.elements[name].value = value;
  draw();
} catch (error) {
  tell(byId("problem"), error.message);
}
document.documentElement.dataset.ready = "";

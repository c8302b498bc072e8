/** The dialogs of the page of a pair. */

import { author, kept, openVersion } from "./api.js";
import { byId, make, tell } from "./dom.js";
import { insertAt, sideOf } from "./editor.js";

for (const button of document.querySelectorAll("dialog .close")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

const choices = (pair, places, checked) => places.map((place) => make("label", { className: "check" },
  make("input", { type: "checkbox", value: String(place), checked: checked.includes(place) }),
  ` the ${sideOf(pair, place)} case`));

const picked = (id) => [...byId(id).querySelectorAll("input:checked")].map((box) => Number(box.value));

/** Run a dialog's work when its form is sent; it stays open, with the reason, where that fails. */
function onSubmit(dialog, work) {
  dialog.querySelector("form").onsubmit = async (event) => {
    event.preventDefault();
    if (await work()) dialog.close();
  };
}

export function askVersion(pair, place, done) {
  const dialog = byId("open-version");
  const voted = pair.cases.flatMap((one, at) => (one.voted ? [at] : []));
  byId("open-version-cases").replaceChildren(...choices(pair, voted, [place]));
  tell(byId("open-version-problem"), "");
  byId("open-version-reason").value = "";
  onSubmit(dialog, async () => {
    const cases = picked("open-version-cases").map((at) => pair.cases[at].id);
    try {
      const reason = byId("open-version-reason").value;
      done(await openVersion(pair.key, pair.version, { cases, reason, author: author.get() }));
      return true;
    } catch (error) {
      if (error.status === 409) {
        done(error.answer);
        return true;
      }
      tell(byId("open-version-problem"), error.message);
      return false;
    }
  });
  dialog.showModal();
  byId("open-version-reason").focus();
}

export function askParameter(pair, mine, path, done) {
  const dialog = byId("add");
  const open = pair.cases.flatMap((one, at) => (!one.voted && mine[at].context ? [at] : []));
  const where = (one) => path.reduce((nodes, name) => nodes?.find((node) => node.name === name)?.children, one.context);
  byId("add-title").textContent = path.length ? `Add a parameter to ${path.at(-1).replaceAll("_", " ")}` : "Add a parameter or a group";
  byId("add-cases").replaceChildren(...choices(pair, open, open));
  byId("add-name").value = "";
  tell(byId("add-problem"), "");
  const names = new Set(mine.flatMap((one) => (where(one) ?? []).map((node) => node.name)));
  byId("add-names").replaceChildren(...[...names].map((name) => make("option", { value: name })));
  onSubmit(dialog, async () => {
    const name = byId("add-name").value.trim().replace(/\s+/g, "_");
    const places = picked("add-cases");
    const taken = places.filter((at) => (where(mine[at]) ?? []).some((node) => node.name === name));
    const problem = !name ? "Give it a name." : !places.length ? "Choose a case."
      : taken.length ? `The ${sideOf(pair, taken[0])} case has it already.` : "";
    tell(byId("add-problem"), problem);
    if (problem) return false;
    const words = name.replaceAll("_", " ");
    const title = words.slice(0, 1).toUpperCase() + words.slice(1);
    const like = { kind: byId("add-kind").value, name, title, text: "", children: [] };
    for (const at of places) insertAt({ mine }, at, [...path, name], like);
    done(`${title}, ${sideOf(pair, places[0])}`);
    return true;
  });
  dialog.showModal();
  byId("add-name").focus();
}

export function askName(done) {
  byId("author").value = author.get();
  onSubmit(byId("name"), async () => {
    const name = byId("author").value.trim();
    if (name) author.set(name);
    done();
    return Boolean(name);
  });
  byId("name").showModal();
}

export function showHelp() {
  const box = byId("keys-on");
  box.checked = kept.read("keys") !== false;
  box.onchange = () => kept.write("keys", box.checked ? null : false);
  onSubmit(byId("help"), async () => true);
  byId("help").showModal();
}

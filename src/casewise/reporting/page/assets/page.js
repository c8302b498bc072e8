/** What the parts of the page share; downloads, the theme, and the order of the runs. */

const byId = (id) => document.getElementById(id);

/** An element with properties, and with children that are elements or texts: never markup. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The value that was packed into a script element: JSON, gzipped, in base64. */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** A number with its digits, halves away from zero, as every figure of the page is rounded. */
function rounded(number, digits = 0) {
  const whole = Math.floor(Number((Math.abs(number) * 10 ** digits).toFixed(6)) + 0.5);
  return `${number < 0 && whole ? "-" : ""}${(whole / 10 ** digits).toFixed(digits)}`;
}

/** A number as the tables print it: no leading zero, a dash where unknown. */
function shown(number, digits = 3) {
  if (number === null || number === undefined) return "–";
  return rounded(number, digits).replace(/^(-?)0\./, "$1.");
}

/** A share as a percentage; with a digit where it would else be none or all. */
function percent(share) {
  const [whole, fine] = [rounded(100 * share), rounded(100 * share, 1)];
  return `${["0", "100"].includes(whole) && !["0.0", "100.0"].includes(fine) ? fine : whole} %`;
}

/** A count with its noun: 1 case, 2 cases. */
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A code word in plain words. */
const spaced = (word) => String(word).replaceAll("_", " ");

/** A text that a spreadsheet might run, with an apostrophe before it: as guard_cell in files. */
function guarded(text) {
  const runs = /^'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/.test(text);
  const number = /^'*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/.test(text);
  return runs && !number ? `'${text}` : text;
}

/** A cell of a CSV file, as RFC 4180 has it. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = guarded(typeof value === "object" ? JSON.stringify(value) : String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) {
  const keys = [...new Set(rows.flatMap(Object.keys))];
  const lines = [keys, ...rows.map((row) => keys.map((key) => row[key]))];
  return lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** One file of every score and every figure of every analysis. */
async function startDownload() {
  const button = byId("download");
  const sections = await unpack("chart-data");
  const scores = JSON.parse(byId("scores").textContent).map(({ analyses, ...row }) => row);
  button.hidden = false;
  button.addEventListener("click", () => download("casewise-numbers.csv", csvText([
    ...scores.map((row) => ({ section: "scores", ...row })),
    ...sections.flatMap(({ id, rows }) => rows.map((row) => ({ section: id, ...row })))])));
}

function startTheme() {
  const [root, button] = [document.documentElement, byId("theme")];
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
}

/** Every heading of the table of runs is a button that sorts by its column, then turns it round. */
function startSorting() {
  const [body] = document.querySelector(".runs").tBodies;
  const rows = [...body.rows];
  const heads = [...document.querySelectorAll(".runs thead th")];
  const valueOf = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const order = (at) => (a, b) => {
    const [x, y] = [valueOf(a, at), valueOf(b, at)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return heads[at].ariaSort === "descending" ? compare(y, x) : compare(x, y);
  };
  const compare = (x, y) => (Number.isNaN(x - y) ? x.localeCompare(y) : x - y);
  heads.forEach((head, at) => {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => {
      const next = head.ariaSort === "descending" ? "ascending" : "descending";
      for (const one of heads) one.ariaSort = null;
      head.ariaSort = next;
      body.append(...rows.toSorted(order(at)));
    });
    head.replaceChildren(button);
  });
}

/** On paper every analysis is open. */
function startPrint() {
  const paper = matchMedia("print");
  let opened = [];
  paper.addEventListener("change", () => {
    if (paper.matches) opened = [...document.querySelectorAll("details.finding:not([open])")];
    for (const one of opened) one.open = paper.matches;
  });
}

/** What the parts of the page share; downloads, and the order of the runs. */

const byId = (id) => document.getElementById(id);

/** An element with properties, and with children that are elements or texts: never markup. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A small line of text below another. */
const aside = (...children) => make("span", { className: "aside" }, ...children);

/** A text of others, whichever way it runs. */
const bdi = (text) => make("bdi", {}, text);

/** The value that was packed into a script element: JSON, gzipped, in base64. */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** A number as the tables print it: halves away from zero, no leading zero, a dash where unknown. */
function shown(number, digits = 3) {
  if (number === null || number === undefined) return "–";
  const whole = Math.floor(Number((Math.abs(number) * 10 ** digits).toFixed(6)) + 0.5);
  const text = (whole / 10 ** digits).toFixed(digits).replace(/^0\./, ".");
  return number < 0 && whole ? `-${text}` : text;
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

function download(name, rows) {
  const keys = [...new Set(rows.flatMap(Object.keys))];
  const lines = [keys, ...rows.map((row) => keys.map((key) => row[key]))];
  const text = lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** One file of every score and every figure of every analysis. */
function startDownload() {
  const scores = JSON.parse(byId("scores").textContent);
  byId("download").hidden = false;
  byId("download").addEventListener("click", () => download("casewise-numbers.csv", [
    ...scores.map(({ analyses, ...row }) => ({ section: "scores", ...row })),
    ...scores.flatMap(({ analyses }) => analyses ?? [])
      .map((row) => ({ section: row.analysis, ...row }))]));
}

/** Every heading of the table of runs is a button that sorts by its column, then turns it round. */
function startSorting() {
  const [body] = document.querySelector(".runs").tBodies;
  const rows = [...body.rows];
  const heads = [...document.querySelectorAll(".runs thead th")];
  const valueOf = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const compare = (x, y) => (Number.isNaN(x - y) ? x.localeCompare(y) : x - y);
  const order = (at) => (a, b) => {
    const [x, y] = [valueOf(a, at), valueOf(b, at)];
    if (x === "" || y === "") return (x === "") - (y === "");
    return heads[at].ariaSort === "descending" ? compare(y, x) : compare(x, y);
  };
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

/** Downloads: what the page shows, as CSV. */

/** A text that a spreadsheet might run, with an apostrophe before it: as guard_cell in files/_text.py. */
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

async function startDownload() {
  const button = byId("download");
  if (!button) return;
  const sections = await unpack("chart-data");
  button.hidden = false;
  button.addEventListener("click", () => download("casewise-numbers.csv", csvText(
    sections.flatMap(({ id, rows }) => rows.map(({ cases: _, ...row }) =>
      ({ section: id, ...row }))))));
}

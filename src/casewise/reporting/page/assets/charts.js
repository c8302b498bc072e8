/** Charts from their specifications, their look taken from the page's style, and downloads. */

const NARROW = 600;

/** Colours are the page's own variables, so that light, dark and print need no redrawing. */
const LOOK = {
  background: "transparent",
  aria: false,
  font: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  view: { stroke: null },
  axis: {
    labelColor: "var(--muted)", titleColor: "var(--muted)", gridColor: "var(--rule)",
    domainColor: "var(--rule)", tickColor: "var(--rule)", labelFontSize: 12, titleFontSize: 12,
    titleFontWeight: 500, titlePadding: 10, labelPadding: 6,
  },
  axisQuantitative: { tickCount: 5 },
  legend: {
    labelColor: "var(--ink)", titleColor: "var(--muted)", labelFontSize: 12, titleFontSize: 12,
    titleFontWeight: 500, orient: "top", direction: "horizontal",
  },
  rule: { color: "var(--muted)" },
};

/** The charts' fixed colours, which the page makes lighter on a dark ground. */
const COLOURS = {
  "#0072B2": "var(--blue)", "#D55E00": "var(--vermillion)", "#009E73": "var(--green)",
  "#E69F00": "var(--orange)", "#CC79A7": "var(--purple)", "#56B4E9": "var(--sky)",
  "#888888": "var(--grey)",
};

/** A copy of a specification, each value put through `change(key, value)` with its nearest key. */
function rewritten(part, change, key = "") {
  if (Array.isArray(part)) return part.map((one) => rewritten(one, change, key));
  if (part === null || typeof part !== "object") return change(key, part);
  return Object.fromEntries(Object.entries(part).map(([name, value]) =>
    [name, name === "legend" ? legendOf(value, change) : rewritten(value, change, name)]));
}

const legendOf = (legend, change) => (legend === null ? null
  : rewritten(legend, (key, value) => change(`legend ${key}`, value)));

/** The specification in the page's colours and, where it is narrow, with labels that fit. */
function fitted(spec, width) {
  const limits = { labelLimit: width * 0.34, "legend labelLimit": width * 0.8 };
  return rewritten(spec, (key, value) => {
    if (width < NARROW && key in limits) return Math.min(value, limits[key]);
    if (width < NARROW && key === "legend columns") return 1;
    return typeof value === "string" ? COLOURS[value.toUpperCase()] ?? value : value;
  });
}

async function draw(plot, { spec, rows }) {
  const whole = { ...fitted(spec, plot.clientWidth), datasets: { rows } };
  const controls = plot.parentElement.querySelector(".controls");
  controls.replaceChildren();
  // The plot has its words; what Vega says of single marks is kept from screen readers.
  const ink = make("div", { ariaHidden: "true" });
  plot.replaceChildren(ink);
  try {
    const { view } = await window.vegaEmbed(ink, whole, {
      actions: false, ast: true, bind: controls, config: LOOK, defaultStyle: false,
      renderer: "svg", tooltip: { theme: "page", disableDefaultStyle: true },
    });
    view.addEventListener("click", (_, mark) => {
      if (mark?.datum?.cases) location.hash = mark.datum.cases;
    });
    plot.parentElement.tabIndex = plot.scrollWidth > plot.clientWidth ? 0 : -1;
  } catch (error) {
    plot.replaceChildren(make("p", { className: "missing" }, `Not drawn: ${error.message}`));
  }
}

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

async function startCharts() {
  const sections = new Map((await unpack("chart-data")).map((one) => [one.id, one]));
  const button = byId("download");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => download("casewise-numbers.csv", csvText(
      [...sections.values()].flatMap(({ id, rows }) => rows.map(({ cases: _, ...row }) =>
        ({ section: id, ...row }))))));
  }
  const drawAll = async () => {
    for (const plot of document.querySelectorAll(".plot")) {
      await draw(plot, sections.get(plot.dataset.section));
    }
  };
  await drawAll();
  matchMedia(`(max-width: ${NARROW}px)`).addEventListener("change", drawAll);
}

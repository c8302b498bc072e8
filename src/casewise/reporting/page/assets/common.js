/** What the parts of the page share. Data become text nodes only, never markup. */

const byId = (id) => document.getElementById(id);

/** An element with properties, and with children that are elements or texts. */
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
  const told = ["0", "100"].includes(whole) && !["0.0", "100.0"].includes(fine) ? fine : whole;
  return `${told} %`;
}

/** A count with its noun: 1 case, 2 cases. */
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A code word in plain words. */
const spaced = (word) => String(word).replaceAll("_", " ");

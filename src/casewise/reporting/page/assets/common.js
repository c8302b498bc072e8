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

/** A number as the tables print it: three digits, no leading zero, a dash where unknown. */
function shown(number) {
  if (number === null || number === undefined) return "–";
  return number.toFixed(3).replace(/^-(0\.0+)$/, "$1").replace(/^(-?)0\./, "$1.");
}

/** A count with its noun: 1 case, 2 cases. */
const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A code word in plain words. */
const spaced = (word) => String(word).replaceAll("_", " ");

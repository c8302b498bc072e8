/** Which words of a text its twin lacks. */

/** Fewer shared words than this, and a text is another one rather than a changed one. */
const ALIKE = 0.4;
const MOST_WORDS = 400;

const split = (text) => text.split(/(?<=\s)(?=\S)/);

/** A text in pieces of [words, whether the twin lacks them]. */
export function pieces(text, twin) {
  if (text === twin) return [[text, false]];
  const [words, others] = [split(text), split(twin)];
  const longest = Math.max(words.length, others.length);
  if (longest > MOST_WORDS) return [[text, true]];
  const shared = sharedWords(words, others);
  if (shared.size < ALIKE * longest) return [[text, true]];
  const found = [];
  for (const [place, word] of words.entries()) {
    const differs = !shared.has(place);
    const last = found.at(-1);
    if (last && last[1] === differs) last[0] += word;
    else found.push([word, differs]);
  }
  return found;
}

/** The places of the words in the longest common subsequence of two texts. */
function sharedWords(words, others) {
  const width = others.length + 1;
  const longest = new Uint16Array((words.length + 1) * width);
  const same = (at, to) => words[at].trim() === others[to].trim();
  for (let at = words.length - 1; at >= 0; at -= 1) {
    for (let to = others.length - 1; to >= 0; to -= 1) {
      const here = at * width + to;
      longest[here] = same(at, to)
        ? longest[here + width + 1] + 1
        : Math.max(longest[here + width], longest[here + 1]);
    }
  }
  const shared = new Set();
  for (let at = 0, to = 0; at < words.length && to < others.length;) {
    if (same(at, to)) {
      shared.add(at);
      at += 1;
      to += 1;
    } else if (longest[(at + 1) * width + to] >= longest[at * width + to + 1]) at += 1;
    else to += 1;
  }
  return shared;
}

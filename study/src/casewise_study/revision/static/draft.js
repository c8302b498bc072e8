/** What may be edited of a pair, and how two edits of it are put together. */

const FIELDS = ["query", "category", "tags", "intended", "history", "context"];

/** The fields that the cases of a pair have in common, as a rule. */
export const SHARED = ["query", "category", "tags"];

export const clone = (value) => (value === undefined ? undefined : structuredClone(value));
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The editable fields of each case. */
export function docOf(pair) {
  return pair.cases.map((one) => Object.fromEntries(FIELDS.map((name) => [name, clone(one[name])])));
}

/** By case, the fields of `mine` that are not as in the pair, as the server takes them. */
export function changesOf(pair, mine) {
  return pair.cases.flatMap((one, place) => {
    const changed = FIELDS.filter((name) => !same(one[name], mine[place][name]));
    if (!changed.length) return [];
    return [{ id: one.id, ...Object.fromEntries(changed.map((name) => [name, mine[place][name]])) }];
  });
}

/**
 * Two edits of one text put together: what one of them left alone is taken from the other. What both
 * changed stays mine, and is listed in `conflicts` as {place, path, mine, theirs}.
 */
export function merge(base, mine, theirs) {
  const conflicts = [];
  const merged = mine.map((one, place) => Object.fromEntries(FIELDS.map((name) => {
    const [old, here, there] = [base[place][name], one[name], theirs[place][name]];
    const at = (path, values) => conflicts.push({ place, path: [name, ...path], ...values });
    const whole = name === "context" && old && here && there;
    return [name, whole ? mergeNodes(old, here, there, [], at) : mergeValue(old, here, there, [], at)];
  })));
  return { merged, conflicts };
}

function mergeValue(old, here, there, path, conflict) {
  if (same(here, old)) return clone(there);
  if (same(there, old) || same(here, there)) return here;
  if ([old, here, there].every((node) => node?.kind === "group")) {
    return { ...here, children: mergeNodes(old.children, here.children, there.children, path, conflict) };
  }
  conflict(path, { mine: clone(here), theirs: clone(there) });
  return here;
}

const byName = (nodes, name) => nodes.find((node) => node.name === name);

function mergeNodes(old, here, there, path, conflict) {
  const names = union([there, here].map((nodes) => nodes.map((node) => node.name)));
  return names.flatMap((name) => {
    const three = [old, here, there].map((nodes) => byName(nodes, name));
    const value = mergeValue(...three, [...path, name], conflict);
    return value === undefined ? [] : [value];
  });
}

/** Names of several lists in one order that keeps each list's own as far as they agree. */
export function union(lists) {
  const found = [...lists[0]];
  for (const list of lists.slice(1)) {
    list.forEach((name, place) => {
      if (found.includes(name)) return;
      const before = list.slice(0, place).findLast((other) => found.includes(other));
      found.splice(before === undefined ? 0 : found.indexOf(before) + 1, 0, name);
    });
  }
  return found;
}

/** Every field in which two drafts differ, as {place, path, mine, theirs}. */
export function differences(mine, theirs) {
  const found = [];
  mine.forEach((one, place) => {
    for (const name of FIELDS) {
      compare(one[name], theirs[place][name], [name], (path, values) => found.push({ place, path, ...values }));
    }
  });
  return once(found);
}

function compare(here, there, path, found) {
  const nodes = [here, there].map((value) => (path.length === 1 && path[0] === "context" ? value
    : value?.kind === "group" ? value.children : null));
  if (nodes.every(Array.isArray)) {
    for (const name of union(nodes.map((list) => list.map((node) => node.name)))) {
      compare(...nodes.map((list) => byName(list, name)), [...path, name], found);
    }
  } else if (!same(here, there)) found(path, { mine: clone(here), theirs: clone(there) });
}

/** What all cases of a pair share is told once. */
export function once(found) {
  const told = new Set();
  return found.filter(({ path, mine, theirs }) => {
    if (!SHARED.includes(path[0])) return true;
    const name = JSON.stringify([path[0], mine, theirs]);
    return !told.has(name) && told.add(name);
  });
}

/** Put a value at a path of one case; undefined takes the parameter away. */
export function put(one, [field, ...path], value) {
  if (!path.length) {
    one[field] = value;
    return;
  }
  let nodes = one[field];
  for (const name of path.slice(0, -1)) nodes = byName(nodes, name)?.children ?? [];
  const place = nodes.findIndex((node) => node.name === path.at(-1));
  if (value === undefined) {
    if (place >= 0) nodes.splice(place, 1);
  } else if (place >= 0) nodes[place] = value;
  else nodes.push(value);
}

/** The tool calls of an earlier turn, a line each. */
export function toolCalls(turn) {
  return (turn.tool_calls ?? []).map((call) => `[tool call: ${call.name}(${JSON.stringify(call.arguments)})]`);
}

/** Who speaks in an earlier turn. */
export const speaker = (turn) => (turn.name ? `${turn.role} ${turn.name}` : turn.role);

/** A value as one text, to be read beside another. */
export function plain(value) {
  if (value === undefined || value === null) return "(none)";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    return value.map((one) => (one.role ? `${speaker(one)}: ${[one.content, ...toolCalls(one)].filter(Boolean).join("\n")}` : plain(one))).join("\n") || "(none)";
  }
  if (value.kind === "list") return value.children.map(plain).join("\n") || "(none)";
  if (value.kind === "group") {
    return value.children.map((one) => `${one.title}: ${plain(one)}`).join("\n") || "(none)";
  }
  if (value.kind === "boolean") return value.text === "true" ? "yes" : "no";
  return value.kind === "null" ? "(none)" : value.text;
}

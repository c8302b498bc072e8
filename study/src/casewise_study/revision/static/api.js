/** What the page asks this computer for, and what it keeps in the browser. */

const meta = (name) => document.querySelector(`meta[name="casewise-${name}"]`).content;

/** A request that was answered with anything but success. */
export class Refused extends Error {
  constructor(status, answer) {
    super(answer.message ?? `refused (${status})`);
    this.status = status;
    this.answer = answer;
  }
}

async function ask(method, address, version, body) {
  const headers = body === undefined
    ? {}
    : { "Content-Type": "application/json", "If-Match": `"${version}"`, "X-Casewise-Token": meta("token") };
  let response;
  try {
    response = await fetch(address, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Refused(0, { message: "casewise does not answer: was it stopped? Your draft is kept in this browser" });
  }
  const answer = await response.json().catch(() => ({}));
  if (response.status === 403) {
    answer.message = "casewise was started anew: open the address that it printed then. Your draft is kept in this browser";
  }
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

export const everyPair = () => ask("GET", "/api/pairs");
export const onePair = (key) => ask("GET", `/api/pairs/${key}`);
export const save = (key, version, body) => ask("PUT", `/api/pairs/${key}`, version, body);
export const openVersion = (key, version, body) => ask("POST", `/api/pairs/${key}/version`, version, body);
export const decide = (key, version, body) => ask("POST", `/api/pairs/${key}/decision`, version, body);

/** Drafts and settings; a browser that keeps nothing loses the comfort and not the work. */
export const kept = {
  read(name) {
    try {
      return JSON.parse(localStorage.getItem(`casewise:${name}`));
    } catch {
      return null;
    }
  },
  write(name, value) {
    try {
      if (value === null) localStorage.removeItem(`casewise:${name}`);
      else localStorage.setItem(`casewise:${name}`, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  },
};

export const draftName = (key) => `draft:${meta("file")}:${key}`;

export const author = {
  get: () => kept.read("author") ?? meta("author"),
  set: (name) => kept.write("author", name === meta("author") ? null : name),
};

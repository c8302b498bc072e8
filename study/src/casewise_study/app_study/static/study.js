// All that this adds can be done without: pages without loading, keys, a button that waits until the
// case can have been read, a way to copy.

const KEYS = "casewise-keys";
const PATIENCE = 60_000; // milliseconds
const VERDICTS = { s: "safe", 1: "safe", u: "unsafe", 2: "unsafe" };

// In the language of the study.
const words = { ...document.body.dataset };
const find = (id) => document.getElementById(id);
const keysOn = () => {
  try {
    return localStorage.getItem(KEYS) !== "off";
  } catch {
    return true;
  }
};

let timer = null;
let watching = null;
let place = location.pathname;

// Sections of the case whose end was not on the screen yet.
const unread = new Set();

// Of the page that is shown: times left, milliseconds away, copied, pasted. Never what was copied.
let counted = [0, 0, 0, 0];
let leftAt = null;

function leave() {
  if (leftAt !== null) return;
  leftAt = performance.now();
  counted[0] += 1;
}

function comeBack() {
  if (leftAt === null) return;
  counted[1] += performance.now() - leftAt;
  leftAt = null;
}

function start() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.onclick = () => copy(button);
  }
  const form = find("answer");
  clearInterval(timer);
  watching?.disconnect();
  leftAt = null;
  if (form) {
    watch(form);
    wait(form);
    const [left, away, ...copies] = (form.elements.watched?.value || "0 0 0 0").split(" ").map(Number);
    counted = [left, 1000 * away, ...copies];
    find("keys").hidden = false;
    find("keys-on").checked = keysOn();
    find("keys-on").onchange = (event) => choose(event.target.checked);
    showKeys();
  }
}

async function copy(button) {
  const source = find(button.dataset.copy);
  const text = source.value ?? source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = words.copied;
  } catch {
    if (source.select) source.select();
    else getSelection().selectAllChildren(source);
    button.textContent = words.copyByHand;
  }
}

// The whole case is to be read, on a small screen too: Next waits until each section's end was seen.
function watch(form) {
  const bar = getComputedStyle(form).position === "sticky" ? form.offsetHeight : 0;
  unread.clear();
  watching = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && unread.delete(target.parentElement)) watching.unobserve(target);
    }
    show(form);
  }, { rootMargin: `0px 0px -${bar}px` });
  for (const section of document.querySelectorAll(".case > section:not(:has(details)), .case details")) {
    unread.add(section);
    watching.observe(section.appendChild(document.createElement("i")));
  }
  find("unread").onclick = goOn;
}

let shown = null;
const title = (section) => section.querySelector("summary, h2").textContent;

// To a section's beginning; from there to its end, should it be longer than the screen.
function goOn() {
  const [section] = unread;
  if (!section) return;
  if ("open" in section) section.open = true;
  section.scrollIntoView({ block: section === shown ? "end" : "start" });
  shown = section;
  section.querySelector("summary")?.focus({ preventScroll: true });
}

let end = 0;
const secondsLeft = () => Math.max(0, Math.ceil((end - performance.now()) / 1000));
const waits = () => secondsLeft() > 0 || unread.size > 0;
const stillToRead = () => words.still.replace("{}", [...unread].map(title).join(", "));

function wait(form) {
  end = performance.now() + Number(form.dataset.wait) * 1000;
  const tick = () => {
    show(form);
    if (!secondsLeft()) clearInterval(timer);
  };
  timer = setInterval(tick, 100);
  tick();
}

// The countdown is for the eye; a screen reader hears how long it is when somebody presses too soon.
function show(form) {
  const button = form.querySelector("button.main");
  const seconds = secondsLeft();
  put(find("left"), seconds ? `${seconds.toLocaleString(document.documentElement.lang)} s` : "");
  put(find("unread"), unread.size ? stillToRead() : "");
  find("unread").hidden = !unread.size;
  if (waits()) button.setAttribute("aria-disabled", "true");
  else {
    button.removeAttribute("aria-disabled");
    put(find("waiting"), "");
  }
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showKeys() {
  for (const one of document.querySelectorAll(".key")) one.hidden = !keysOn();
}

function choose(on) {
  try {
    localStorage.setItem(KEYS, on ? "on" : "off");
  } catch {
    // A browser that keeps nothing asks again on the next page.
  }
  showKeys();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id !== "answer") return;
  event.preventDefault();
  if (waits()) {
    put(find("waiting"), unread.size ? stillToRead() : words.readFirst.replace("{}", secondsLeft()));
    goOn();
    return;
  }
  if (form.elements.watched) {
    comeBack();
    const [left, away, ...copies] = counted;
    form.elements.watched.value = [left, (away / 1000).toFixed(1), ...copies].join(" ");
  }
  send(form);
});

// The next page in place of this one; what it needs is loaded already.
async function send(form) {
  const button = form.querySelector("button.main");
  button.disabled = true;
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("main")) throw new Error("no page");
    history[answer.url === location.href ? "replaceState" : "pushState"](null, "", answer.url);
    place = location.pathname;
    document.title = page.title;
    document.body.replaceChildren(...page.body.childNodes);
    scrollTo(0, 0);
    start();
    (document.querySelector("[autofocus]") ?? document.querySelector("h1")).focus({ preventScroll: true });
  } catch {
    button.disabled = false;
    button.focus();
    find("problem").textContent = words.unreachable;
  }
}

document.addEventListener("keydown", (event) => {
  const form = find("answer");
  const at = event.target;
  if (!form || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !keysOn()) return;
  if (at.matches("textarea, select, input:not([type=radio], [type=checkbox])")) return;
  const verdict = VERDICTS[event.key.toLowerCase()];
  if (verdict) {
    const radio = form.querySelector(`[name=verdict][value=${verdict}]`);
    radio.checked = true;
    radio.focus();
    event.preventDefault();
  } else if (event.key === "Enter" && !at.closest("button, a, summary")) {
    event.preventDefault();
    form.requestSubmit();
  }
});

window.addEventListener("blur", leave);
window.addEventListener("focus", comeBack);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
  else if (document.hasFocus()) comeBack();
});
document.addEventListener("copy", () => {
  const shown = document.querySelector(".case");
  if (shown && getSelection().containsNode(shown, true)) counted[2] += 1;
});
document.addEventListener("paste", () => {
  counted[3] += 1;
});

window.addEventListener("popstate", () => {
  if (location.pathname !== place) location.reload();
});

// A page that the browser kept may be answered since.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

start();
document.documentElement.dataset.ready = "";

// All that this adds can be done without: keys, a button that waits, a way to copy.

const KEYS = "casewise-keys";
const VERDICTS = { s: "safe", 1: "safe", u: "unsafe", 2: "unsafe" };

// In the language of the study.
const words = document.body.dataset;
const find = (id) => document.getElementById(id);
const keysOn = () => {
  try {
    return localStorage.getItem(KEYS) !== "off";
  } catch {
    return true;
  }
};

let timer = null;

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
  leftAt = null;
  if (form) {
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

function wait(form) {
  const button = form.querySelector("button.main");
  const end = performance.now() + Number(form.dataset.wait) * 1000;
  const tick = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    if (left > 0) {
      button.setAttribute("aria-disabled", "true");
    } else {
      button.removeAttribute("aria-disabled");
      find("waiting").textContent = "";
      clearInterval(timer);
    }
  };
  tick();
  timer = setInterval(tick, 100);
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

function waits(form) {
  return form.querySelector("button.main").getAttribute("aria-disabled") === "true";
}

// In the capturing phase: before htmx sends the form.
document.addEventListener(
  "submit",
  (event) => {
    if (event.target.id === "answer" && waits(event.target)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      find("waiting").textContent = words.readFirst;
    } else if (event.target.elements.watched) {
      comeBack();
      const [left, away, ...copies] = counted;
      event.target.elements.watched.value = [left, (away / 1000).toFixed(1), ...copies].join(" ");
    }
  },
  true,
);

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

document.addEventListener("htmx:afterSwap", () => {
  start();
  document.querySelector("#main h1")?.focus({ preventScroll: true });
});

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, () => {
    find("problem").textContent = words.unreachable;
  });
}

// A page that the browser kept may be answered since.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

start();
document.documentElement.dataset.ready = "";

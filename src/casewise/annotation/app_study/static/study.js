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

function start() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.onclick = () => copy(button);
  }
  const form = find("answer");
  clearInterval(timer);
  if (form) {
    wait(form);
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

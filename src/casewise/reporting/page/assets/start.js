/** Light or dark, what is folded, and the start of it all. */

function startTheme() {
  const [root, button] = [document.documentElement, byId("theme")];
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
}

/** On a narrow page the contents are folded; beside a wide one they always stand open. */
function startContents() {
  const fold = document.querySelector(".contents details");
  const wide = matchMedia("(min-width: 68rem)");
  const set = () => {
    fold.open = wide.matches;
  };
  wide.addEventListener("change", set);
  set();
}

function sayFailure(id, error) {
  const words = `This part can't be shown: ${error.message}`;
  byId(id).append(make("p", { className: "missing" }, words));
}

startTheme();
startContents();
const [, follow] = await Promise.all([
  startDownload().catch((error) => sayFailure("main", error)),
  startCases().catch((error) => sayFailure("cases", error)),
]);
// Once everything has its height.
follow?.();
document.documentElement.dataset.ready = "true";

import { author, everyPair } from "./api.js";
import { byId, tell } from "./dom.js";

const input = byId("author");
input.value = author.get();
byId("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = input.value.trim();
  if (!name) {
    input.focus();
    return;
  }
  author.set(name);
  location.assign("/pairs");
});
everyPair().then(({ decided, total }) => tell(byId("counts"), `${decided} of ${total} pairs decided`))
  .catch((error) => tell(byId("counts"), error.message))
  .finally(() => { document.documentElement.dataset.ready = ""; });

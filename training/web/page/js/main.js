// Which page is shown: the part behind `#` names it.

import { make, notify } from "./dom.js";
import { askPage } from "./ask.js";
import { gamePage } from "./game.js";
import { openPage } from "./open.js";
import { puzzlePage } from "./puzzle.js";
import { forget } from "./recent.js";
import { replayPage } from "./replay.js";
import { startPage } from "./start.js";
import { switchLanguage, translate, word } from "./words.js";

const PAGES = { "": startPage, game: gamePage, replay: replayPage, open: openPage, puzzle: puzzlePage, ask: askPage };

const main = document.getElementById("main");
let leave = null;
let visit = 0;

async function show() {
  const mine = ++visit;
  leave?.();
  leave = null;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const root = make("div", { class: "page", "aria-busy": "false" });
  main.replaceChildren(root);
  for (const link of document.querySelectorAll("nav a")) link.toggleAttribute("aria-current", link.hash.slice(2) === name);
  try {
    const end = (await (PAGES[name] ?? startPage)(root, ...rest)) ?? null;
    if (mine !== visit) end?.();
    else {
      leave = end;
      if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
    }
  } catch (error) {
    if (mine !== visit) return;
    if (error.status === 404) forget(rest[0]);
    notify(error.status === 404 ? word("no game") : error.message);
    if (error.status) location.hash = "#/";
    else root.replaceChildren(make("div", { class: "controls" }, make("button", { type: "button", class: "first", click: show }, word("retry"))));
  }
}

function words() {
  translate();
  const button = document.getElementById("language");
  button.textContent = word("language");
  button.lang = word("language code");
}

document.getElementById("language").addEventListener("click", () => { switchLanguage(); words(); show(); });
window.addEventListener("hashchange", show);
words();
show();

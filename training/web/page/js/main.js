// Which page is shown: the part behind `#` names it.

import { notify } from "./dom.js";
import { askPage } from "./ask.js";
import { gamePage } from "./game.js";
import { openPage } from "./open.js";
import { puzzlePage } from "./puzzle.js";
import { replayPage } from "./replay.js";
import { startPage } from "./start.js";
import { switchLanguage, translate, word } from "./words.js";

const PAGES = { "": startPage, game: gamePage, replay: replayPage, open: openPage, puzzle: puzzlePage, ask: askPage };

const main = document.getElementById("main");
let leave = null;

async function show() {
  leave?.();
  leave = null;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  try {
    leave = (await (PAGES[name] ?? startPage)(main, ...rest)) ?? null;
    main.focus({ preventScroll: true });
  } catch (error) {
    if (error.status === 404) localStorage.removeItem("game");
    notify(error.status === 404 ? word("no game") : error.message);
    if (name) location.hash = "#/";
  }
}

function words() {
  translate();
  const button = document.getElementById("language");
  button.textContent = word("language");
}

document.getElementById("language").addEventListener("click", () => { switchLanguage(); words(); show(); });
window.addEventListener("hashchange", show);
words();
show();

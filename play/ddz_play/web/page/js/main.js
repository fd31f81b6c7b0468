// Which page is shown: the part behind `#` names it.

import { announce, hush, make, messages, notify } from "./dom.js";
import { askPage } from "./ask.js";
import { gamePage } from "./game.js";
import { openPage } from "./open.js";
import { puzzlePage } from "./puzzle.js";
import { replayPage } from "./replay.js";
import { forget } from "./recent.js";
import { startPage } from "./start.js";
import { entitle, switchLanguage, translate, word } from "./words.js";

const PAGES = { ask: askPage, game: gamePage, open: openPage, puzzle: puzzlePage, replay: replayPage };

const main = document.getElementById("main");
let leave = null;
let visit = 0;
let carried = ""; // what the next page says, because another led to it by a fault

async function show() {
  const mine = ++visit;
  leave?.();
  leave = null;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const root = make("div", { class: "page", "aria-busy": "false" }, messages());
  main.replaceChildren(root);
  announce("");
  entitle(word(name in PAGES && name !== "game" && name !== "replay" ? name : name ? "" : "new game"));
  notify(carried);
  carried = "";
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
    const text = error.status === 404 ? word("no game") : error.message;
    if (error.status && name) {
      carried = text;
      location.hash = "#/";
      return;
    }
    notify(text);
    const retry = make("button", { type: "button", class: "first", click: () => { hush(); show(); } }, word("retry"));
    root.replaceChildren(messages(), make("div", { class: "controls" }, retry));
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

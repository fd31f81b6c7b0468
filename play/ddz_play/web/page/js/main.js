// Which page is shown: the part behind `#` names it.

import { announce, clearMessage, make, messagesElement, showError } from "./dom.js";
import { askPage } from "./ask.js";
import { gamePage } from "./game.js";
import { openPage } from "./open.js";
import { puzzlePage } from "./puzzle.js";
import { replayPage } from "./replay.js";
import { forgetGame } from "./recent.js";
import { startPage } from "./start.js";
import { setTitle, switchLanguage, translatePage, word } from "./words.js";

const PAGES = { ask: askPage, game: gamePage, open: openPage, puzzle: puzzlePage, replay: replayPage };

const main = document.getElementById("main");
let leavePage = null;
let visit = 0;
let carriedMessage = ""; // what the next page says, because another led to it by a fault

async function showPage() {
  const mine = ++visit;
  leavePage?.();
  leavePage = null;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const root = make("div", { class: "page", "aria-busy": "false" }, messagesElement());
  main.replaceChildren(root);
  announce("");
  setTitle(word(name in PAGES && name !== "game" && name !== "replay" ? name : name ? "" : "new game"));
  showError(carriedMessage);
  carriedMessage = "";
  for (const link of document.querySelectorAll("nav a")) link.toggleAttribute("aria-current", link.hash.slice(2) === name);
  try {
    const end = (await (PAGES[name] ?? startPage)(root, ...rest)) ?? null;
    if (mine !== visit) end?.();
    else {
      leavePage = end;
      if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
    }
  } catch (error) {
    if (mine !== visit) return;
    if (error.status === 404) forgetGame(rest[0]);
    const text = error.status === 404 ? word("no game") : error.message;
    if (error.status && name) {
      carriedMessage = text;
      location.hash = "#/";
      return;
    }
    showError(text);
    const retry = make("button", { type: "button", class: "first", click: () => { clearMessage(); showPage(); } }, word("retry"));
    root.replaceChildren(messagesElement(), make("div", { class: "controls" }, retry));
  }
}

function drawWords() {
  translatePage();
  const button = document.getElementById("language");
  button.textContent = word("language");
  button.lang = word("language code");
}

document.getElementById("language").addEventListener("click", () => { switchLanguage(); drawWords(); showPage(); });
window.addEventListener("hashchange", showPage);
drawWords();
showPage();

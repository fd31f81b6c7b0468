// Stepping through a game that is over, was loaded, or is played by agents alone.

import { get, post } from "./api.js";
import { make, notify } from "./dom.js";
import { ending } from "./game.js";
import { logElement, tableElement } from "./table.js";
import { beliefsElement, curveElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

export async function replayPage(main, id, at) {
  let game = await get(`games/${id}/moves/${at ?? 0}`);
  let thoughts = null;
  let curve = null;
  let alive = true;

  async function go(number) {
    try {
      const most = game.total;
      if (number > most && game.running) await post(`games/${id}/advance`, { moves: most });
      game = await get(`games/${id}/moves/${Math.max(0, Math.min(number, game.running ? number : most))}`);
      thoughts = null;
      show();
    } catch (error) {
      notify(error.message);
    }
  }

  async function look() {
    try {
      thoughts = await post(`games/${id}/moves/${game.moves.length}/thoughts`);
      show();
    } catch (error) {
      notify(error.message);
    }
  }

  function show() {
    if (!alive) return;
    const number = game.moves.length;
    const button = (name, press, disabled) => make("button", { type: "button", id: name, click: press, disabled }, word(name));
    const controls = make("div", { class: "controls" },
      button("first", () => go(0), number === 0), button("back", () => go(number - 1), number === 0),
      button("step", () => go(number + 1), number >= game.total && !game.running), button("last", () => go(game.total), number >= game.total),
      button("look", look, game.over));
    const own = make("div", {}, make("p", { class: "status", role: "status" }, game.over ? ending(game) : `${number} / ${game.total}`), controls);
    const side = [thoughts && thoughtsElement(thoughts, () => {}), thoughts && beliefsElement(thoughts, game.names), curve && curveElement(curve, go), logElement(game, number)];
    main.replaceChildren(make("div", { class: "desk" }, make("div", {}, tableElement(game), own), make("aside", { class: "side" }, side.filter(Boolean))));
  }

  show();
  return () => (alive = false);
}

// An endgame puzzle: the person looks for the only first move that wins.

import { get, post } from "./api.js";
import { row } from "./cards.js";
import { make, notify } from "./dom.js";
import { Hand } from "./hand.js";
import { said } from "./table.js";
import { word } from "./words.js";

export async function puzzlePage(main, number) {
  const puzzle = await get(number === undefined ? "puzzles" : `puzzles/${number}`);
  const verdict = make("p", { class: "status", role: "status" });
  const play = make("button", { type: "button", class: "first", id: "play", disabled: true, click: answer }, word("play"));
  const hand = new Hand(puzzle.hands[0], () => (play.disabled = !hand.text));

  async function answer() {
    try {
      const { wins, line } = await post(`puzzles/${puzzle.number}`, { text: hand.text });
      verdict.textContent = wins ? `${word("solved")} ${line.map(said).join(" · ")}` : word("check");
    } catch (error) {
      notify(error.message);
    }
  }

  async function solution() {
    const { line } = await post(`puzzles/${puzzle.number}`, {});
    verdict.textContent = line.map(said).join(" · ");
  }

  main.replaceChildren(make("section", { class: "panel" }, make("h1", {}, `${word("puzzle")} ${puzzle.number}`), make("p", {}, word("puzzle first")),
    puzzle.hands.slice(1).map((cards) => make("p", {}, row(cards, 0, ""))), hand.element, verdict,
    make("div", { class: "controls" }, play, make("button", { type: "button", id: "solution", click: solution }, word("solution")), make("a", { href: `#/puzzle/${(puzzle.number % puzzle.count) + 1}`, class: "plate" }, word("next puzzle")))));
}

// The puzzles: a game with open hands, against a player that makes no mistakes.

import { get, post } from "./api.js";
import { make, notify } from "./dom.js";
import { word } from "./words.js";

const SOME = 60;
const stars = (grade) => Math.min(5, 1 + Math.floor(grade / 2));

export async function puzzlePage(root) {
  const { grades } = await get("puzzles");
  const numbers = grades.map((grade, place) => ({ grade, number: place + 1 })).sort((a, b) => a.grade - b.grade || a.number - b.number);

  async function begin(number) {
    try {
      const { id } = await post("games", { puzzle: number });
      location.hash = `#/game/${id}`;
    } catch (error) {
      notify(error.message);
    }
  }

  const button = ({ number, grade }) => make("button", { type: "button", "aria-label": word("puzzle of", { n: number, grade: stars(grade) }), click: () => begin(number) }, `${number} ${"★".repeat(stars(grade))}`);
  const list = make("div", { class: "controls" }, numbers.slice(0, SOME).map(button));
  const more = numbers.length > SOME && make("button", { type: "button", id: "all", click: () => { list.append(...numbers.slice(SOME).map(button)); more.remove(); } }, word("all"));
  root.replaceChildren(make("section", { class: "panel" }, make("h1", {}, word("puzzle")), make("p", {}, word("puzzle first")), list, more || ""));
}

// The puzzles: a game with open hands, against a player that makes no mistakes.

import { get, post } from "./api.js";
import { hush, make, notify, told } from "./dom.js";
import { puzzles } from "./recent.js";
import { word } from "./words.js";

const SOME = 60;
const stars = (grade) => Math.min(5, 1 + Math.floor(grade / 2));

export async function puzzlePage(root) {
  const { grades } = await get("puzzles");
  const done = puzzles();
  const numbers = grades.map((grade, place) => ({ grade, number: place + 1 })).sort((a, b) => a.grade - b.grade || a.number - b.number);

  async function begin(number) {
    hush();
    try {
      const { id } = await post("games", { puzzle: number }, "dealing");
      location.hash = `#/game/${id}/${number}`;
    } catch (error) {
      notify(error.message);
    }
  }

  function button({ number, grade }) {
    const solved = done[number] === "solved";
    const label = [word("puzzle of", { n: number, grade: stars(grade) }), solved && word("solved mark")].filter(Boolean).join(", ");
    return make("button", { type: "button", class: solved ? "solved" : "", "aria-label": label, click: () => begin(number) }, `${solved ? "✓ " : ""}${number} ${"★".repeat(stars(grade))}`);
  }

  const solved = numbers.filter(({ number }) => done[number] === "solved").length;
  const list = make("div", { class: "controls" }, numbers.slice(0, SOME).map(button));
  const more = numbers.length > SOME && make("button", { type: "button", id: "all", click: () => { list.append(...numbers.slice(SOME).map(button)); more.remove(); } }, word("all"));
  root.replaceChildren(make("section", { class: "panel" }, make("h1", {}, word("puzzle")), make("p", {}, word("puzzle first")), solved > 0 ? make("p", {}, word("solved so far", { n: solved, all: numbers.length })) : "", told(), list, more || ""));
}

// The puzzles: a game with open hands, against a player that makes no mistakes.

import { get, post } from "./api.js";
import { choice, make, messages, once } from "./dom.js";
import { puzzles } from "./recent.js";
import { word } from "./words.js";

const MOST = 5;
const solved = ({ number }) => puzzles()[number] === "solved";

/** All puzzles, the easiest first. */
async function all() {
  const { grades } = await get("puzzles");
  const numbers = grades.map((grade, place) => ({ grade, number: place + 1, stars: Math.min(MOST, 1 + Math.floor(grade / 2)) }));
  return numbers.sort((a, b) => a.grade - b.grade || a.number - b.number);
}

/** Begin a puzzle, and say where it is. */
async function begin(number) {
  const { id } = await post("games", { puzzle: number }, "dealing");
  return `#/game/${id}/${number}`;
}

/** Begin the next puzzle that has not been solved; where the list is if there is none. */
export async function nextPuzzle(before) {
  const list = await all();
  const place = list.findIndex(({ number }) => number === before);
  const next = [...list.slice(place + 1), ...list.slice(0, place)].find((one) => !solved(one));
  return next ? begin(next.number) : "#/puzzle";
}

export async function puzzlePage(root) {
  const list = await all();
  const count = list.filter(solved).length;
  const place = make("div", { class: "controls" });

  function button(puzzle) {
    const { number } = puzzle;
    const label = [word("puzzle number", { n: number }), solved(puzzle) && word("solved mark")].filter(Boolean).join(", ");
    const press = () => once(root, async () => (location.hash = await begin(number)));
    return make("button", { type: "button", class: solved(puzzle) ? "solved" : "", "aria-label": label, click: press }, `${solved(puzzle) ? "✓ " : ""}${number}`);
  }

  const grades = Array.from({ length: MOST }, (_, at) => [at + 1, "★".repeat(at + 1)]);
  const filter = choice("stars", grades, Number(sessionStorage.getItem("stars")) || 1, { "aria-label": word("stars"), change: show });

  function show() {
    sessionStorage.setItem("stars", filter.value);
    place.replaceChildren(...list.filter(({ stars }) => stars === Number(filter.value)).map(button));
  }

  show();
  root.replaceChildren(make("section", { class: "panel" }, make("h1", {}, word("puzzle")), make("p", {}, word("puzzle first")), count > 0 ? make("p", {}, word("solved so far", { n: count, all: list.length })) : "", filter, messages(), place));
}

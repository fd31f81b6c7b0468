// The puzzles: a game with open hands, against a player that makes no mistakes.  The server keeps what was solved.

import { get, post } from "./api.js";
import { moveText } from "./cards.js";
import { selectElement, make, messagesElement, runOnce } from "./dom.js";
import { dropMistake, ownMistakes, markAsPractice } from "./recent.js";
import { getSetting, setSetting } from "./settings.js";
import { word } from "./words.js";

const MOST = 5;
const SHOWN = 12; // puzzles at a time
const THEMES = { any: () => true, rocket: (hands) => hands.some((hand) => /B.*R/.test(hand)), bombs: (hands) => hands.some((hand) => /(.)\1\1\1/.test(hand)), runs: (hands) => hands.some(hasRun), short: (hands) => hands.every((hand) => hand.length < 9) };

/** Whether a hand has five ranks in a row. */
function hasRun(hand) {
  const ranks = [...new Set(hand)].map((sign) => "3456789TJQKA".indexOf(sign)).filter((rank) => rank >= 0);
  return ranks.some((rank) => [1, 2, 3, 4].every((step) => ranks.includes(rank + step)));
}

/** All puzzles, the easiest first, with what has been done. */
async function loadPuzzles() {
  const { puzzles, ...done } = await get("puzzles");
  const list = puzzles.map(({ grade, hands }, place) => ({ grade, hands: hands.replaceAll(" ", "").split("/"), number: place + 1, stars: Math.min(MOST, 1 + Math.floor(grade / 2)) }));
  return { list: list.sort((a, b) => a.grade - b.grade || a.number - b.number), ...done };
}

/** Begin a puzzle, and say where it is. */
async function beginPuzzle(number) {
  const { id } = await post("games", { puzzle: number }, "dealing");
  return `#/game/${id}/${number}`;
}

/** Begin a game in the position of an own mistake, which is offered once; say where it is. */
async function retryMistake(position) {
  dropMistake(position);
  const { id } = await post(`games/${position.id}/moves/${position.number}/branch`, {}, "dealing");
  markAsPractice(id);
  return `#/game/${id}`;
}

const matches = ({ stars, hands }) => stars === (getSetting("stars") ?? 1) && (THEMES[getSetting("theme")] ?? THEMES.any)(hands);

/** Begin the next puzzle of the same stars and theme that has not been solved; where the list is if there is none. */
export async function nextPuzzle(before) {
  const { list, solved } = await loadPuzzles();
  const place = list.findIndex(({ number }) => number === before);
  const next = [...list.slice(place + 1), ...list.slice(0, place)].find((one) => matches(one) && !solved.includes(one.number));
  return next ? beginPuzzle(next.number) : "#/puzzle";
}

export async function puzzlePage(root) {
  const { list, solved, first, tried, streak, rating, daily } = await loadPuzzles();
  const place = make("div", { class: "puzzles" });
  const go = (number) => runOnce(root, async () => (location.hash = await beginPuzzle(number)));

  function button({ number, stars, hands }) {
    const mark = first.includes(number) ? "✓✓ " : solved.includes(number) ? "✓ " : "";
    const label = [word("puzzle number", { n: number }), mark && word(first.includes(number) ? "first mark" : "solved mark")].filter(Boolean).join(", ");
    return make("button", { type: "button", class: mark ? "solved" : "", "aria-label": label, click: () => go(number) },
      `${mark}${word("puzzle number", { n: number })}`, make("small", {}, `${"★".repeat(stars)} · ${word("puzzle cards", { own: hands[0].length, other: hands[1].length })}`));
  }

  const change = (name, read) => (event) => { setSetting(name, read(event.target.value)); show(); };
  const grades = Array.from({ length: MOST }, (_, at) => [String(at + 1), "★".repeat(at + 1)]);
  const stars = selectElement("stars", grades, String(getSetting("stars") ?? 1), { "aria-label": word("stars"), change: change("stars", Number) });
  const theme = selectElement("theme", Object.keys(THEMES).map((name) => [name, word(`theme ${name}`)]), getSetting("theme") ?? "any", { "aria-label": word("theme"), change: change("theme", String) });

  function show(most = SHOWN) {
    const found = list.filter(matches);
    const open = [...found.filter(({ number }) => !solved.includes(number)), ...found.filter(({ number }) => solved.includes(number))];
    const more = open.length > most && make("button", { type: "button", click: () => show(most + 4 * SHOWN) }, word("more", { n: open.length - most }));
    place.replaceChildren(...[...open.slice(0, most).map(button), more].filter(Boolean));
  }

  show();
  const own = ownMistakes().map((one) => make("button", { type: "button", class: "own", click: () => runOnce(root, async () => (location.hash = await retryMistake(one))) },
    moveText(one.move), make("small", {}, `${new Date(one.day).toLocaleDateString(document.documentElement.lang, { month: "short", day: "numeric" })} · ${word("loss", { n: (100 * one.loss).toFixed(0) })}`)));
  const mine = own.length > 0 && [make("h2", {}, word("own positions")), make("p", {}, word("own positions about")), make("div", { class: "puzzles" }, own)];
  const facts = tried > 0 && make("p", { id: "record" }, word("puzzle record", { rating, streak, first: first.length, tried, solved: solved.length, all: list.length }));
  const today = make("button", { type: "button", class: "first", id: "daily", click: () => go(daily) }, `${solved.includes(daily) ? "✓ " : ""}${word("daily")}`);
  root.replaceChildren(make("section", { class: "panel" }, make("h1", {}, word("puzzle")), make("p", {}, word("puzzle first")), facts || "", make("div", { class: "controls" }, today, stars, theme), messagesElement(), mine || [], place));
}

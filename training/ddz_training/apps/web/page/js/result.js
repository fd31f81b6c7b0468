// How a game ended: a sentence for everybody, and a banner for who played.

import { make } from "./dom.js";
import { word } from "./words.js";

const PIECES = 28;
const COLORS = ["#ffcd54", "#f4f7f2", "#7cc4ff", "#ff8d7a", "#9be08a"];

export const signed = (result) => `${result > 0 ? "+" : result < 0 ? "−" : ""}${Math.abs(result)}`;
const points = ({ result }) => word(Math.abs(result) === 1 ? "point" : "points", { n: signed(result) });
const how = (game) => [word(game.winner === game.table.landlord ? "landlord wins" : "peasants win"), game.table.spring && word("spring")].filter(Boolean).join(" ");

/** How a game ended, for who looks. */
export function ending(game) {
  if (game.winner == null) return word("nobody bid");
  if (game.seat == null) return how(game);
  return [word(game.result > 0 ? "won" : "lost"), how(game), points(game)].filter(Boolean).join(" ");
}

/** The end of a game in short, for a list. */
export function endingShort({ result, role }) {
  if (result == null) return word("nobody bid");
  return word("as", { name: `${word(result > 0 ? "won short" : "lost short")} ${signed(result)}`, role: word(`${role} short`) });
}

/** Bits of paper that fall once; who wants less motion gets none. */
function confetti() {
  return make("span", { class: "confetti", "aria-hidden": "true" }, Array.from({ length: PIECES }, (_, place) => {
    const piece = make("i");
    piece.style.left = `${(100 * (place + Math.random())) / PIECES}%`;
    piece.style.background = COLORS[place % COLORS.length];
    piece.style.animationDelay = `${(0.8 * Math.random()).toFixed(2)}s`;
    return piece;
  }));
}

/** The banner: who won, as what, for how much; `title` and `text` say more than the game knows (a puzzle). */
export function resultElement(game, fresh, title = null, text = null) {
  const won = game.result > 0;
  if (game.winner == null) return [make("div", { class: "result" }, make("strong", {}, word("nobody bid")))];
  const stake = game.scoring !== "win" && word("stake", { n: game.table.stake }); // what a win counts does not depend on it
  const facts = [word(game.table.seats[game.seat].role), stake, points(game)].filter(Boolean);
  const banner = make("div", { class: `result ${won ? "won" : "lost"} ${fresh ? "fresh" : ""}` },
    make("strong", {}, title ?? word(won ? "won" : "lost")), make("span", {}, text ?? how(game)), text ? null : make("span", { class: "facts" }, facts.join(" · ")));
  return [banner, won && fresh && confetti()];
}

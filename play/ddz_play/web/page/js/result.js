// How a game ended: a sentence for everybody, and a banner for the person who played.

import { make } from "./dom.js";
import { payText } from "./table.js";
import { signedText, word } from "./words.js";

const pointsText = ({ result, scoring }) => word(scoring === "win" && Math.abs(result) < 1 ? "half" : Math.abs(result) === 1 ? "point" : "points", { n: signedText(result) });
const outcomeText = (game) => [word(game.winner === game.table.landlord ? "landlord wins" : "peasants win"), game.table.spring && word("spring")].filter(Boolean).join(" ");

/** How a game ended, for the viewer. */
export function endingText(game) {
  if (game.winner == null) return word("no bids");
  if (game.seat == null) return outcomeText(game);
  return [word(game.result > 0 ? "won" : "lost"), outcomeText(game), pointsText(game)].filter(Boolean).join(" ");
}

/** The end of a game in short, for a list. */
export function shortEndingText({ result, role }) {
  if (result == null) return word("no bids");
  return word("as", { name: `${word(result > 0 ? "won" : "lost")} ${signedText(result)}`, role: word(role) });
}

/** The banner: who won, as what, for how much; `title` and `text` say more than the game knows (a puzzle). */
export function resultElement(game, title = null, text = null) {
  const won = game.verdict ? game.verdict === "won" : game.result > 0;
  if (!title && game.winner == null) return make("div", { class: "result", tabindex: -1 }, make("strong", {}, word("no bids")));
  const stake = game.scoring === "stake" && payText(game); // elsewhere the result does not depend on it
  const facts = title ? [] : [word(game.table.seats[game.seat].role), stake, pointsText(game)].filter(Boolean);
  return make("div", { tabindex: -1, class: `result ${won ? "won" : "lost"}` },
    make("strong", {}, title ?? word(won ? "won" : "lost")), make("span", {}, text ?? outcomeText(game)), text ? null : make("span", { class: "facts" }, facts.join(" · ")));
}

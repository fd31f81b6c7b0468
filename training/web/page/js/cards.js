// Cards as the renderer draws them: rank and suit in the corner, a large suit below.

import { make, symbol } from "./dom.js";

const RANKS = ["3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A", "2", "", ""];
const LETTERS = "3456789TJQKA2BR";
const SUITS = { "♠": "spade", "♥": "heart", "♣": "club", "♦": "diamond" };

/** A card's text as the notation writes it. */
export const letter = (card) => LETTERS[card.rank];

/** A card; `tag` is `button` where it can be chosen. */
export function cardElement(card, tag = "span", attributes = {}) {
  const label = card.suit ? RANKS[card.rank] + card.suit : card.red ? "red joker" : "black joker";
  const role = tag === "button" ? {} : { role: "img" };
  const element = make(tag, { class: `card ${card.red ? "red" : ""}`, "aria-label": label, ...role, ...attributes });
  if (!card.suit) element.append(make("span", { class: "joker", "aria-hidden": "true" }, "JOKER"));
  else {
    const suit = SUITS[card.suit];
    element.append(make("span", { class: `rank ${RANKS[card.rank].length > 1 ? "wide" : ""}`, "aria-hidden": "true" }, RANKS[card.rank]), symbol(suit, "pip"), symbol(suit, "big"));
  }
  return element;
}

/** A place in a row: it gives way where the row is full, and the next card covers this one. */
export const slot = (card) => make("span", { class: "slot" }, card);

/** Cards side by side, the highest first, and some backs. */
export function row(cards, backs = 0, kind = "small") {
  const shown = cards.map((card) => cardElement(card)).reverse();
  const hidden = Array.from({ length: backs }, () => make("span", { class: "card back" }));
  return make("span", { class: `cards ${kind} ${backs && !shown.length ? "backs" : ""}` }, [...shown, ...hidden].map(slot));
}

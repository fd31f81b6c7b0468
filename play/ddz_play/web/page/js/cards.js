// Cards as the renderer draws them: rank and suit in the corner, a large suit below.

import { make, symbol } from "./dom.js";
import { word } from "./words.js";

const RANKS = ["3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A", "2"];
export const LETTERS = "3456789TJQKA2BR";
const SUITS = { "♠": "spade", "♥": "heart", "♣": "club", "♦": "diamond" };
const JOKERS = { B: "black joker", R: "red joker" };

/** A card's text as the notation writes it. */
export const cardLetter = (card) => LETTERS[card.rank];

/** A rank as people write it. */
export const rankName = (sign) => (JOKERS[sign] ? word(JOKERS[sign]) : sign === "T" ? "10" : sign);

/** A move as people write it: `8 9 10 J Q`, `333 444 + 5 7`, words for everything that has no cards. */
export function moveText(text) {
  const bid = /^bid (\d)$/.exec(text);
  if (bid) return word("bid", { n: bid[1] });
  if (!/^[3-9TJQKA2BR+]+$/.test(text)) return word(text);
  if (text === "BR") return word("rocket");
  const run = (same) => (/[TBR]/.test(same) ? [...same].map(rankName).join(" ") : same);
  return text.split("+").map((part) => part.match(/(.)\1*/g).map(run).join(" ")).join(" + ");
}

/** A card; `tag` is `button` where it can be chosen. */
export function cardElement(card, tag = "span", attributes = {}) {
  const label = card.suit ? RANKS[card.rank] + card.suit : rankName(cardLetter(card));
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
export function cardRow(cards, backs = 0, kind = "small") {
  const shown = cards.map((card) => cardElement(card)).reverse();
  const hidden = Array.from({ length: backs }, () => make("span", { class: "card back" }));
  return make("span", { class: `cards ${kind} ${backs && !shown.length ? "backs" : ""}` }, [...shown, ...hidden].map(slot));
}

const TOKEN = /10|小王|大王|[3-9TJQKA2BR]/g;
const NOISE = /[\s,，、♥♦♠♣♡♢♤♧\ufe0e\ufe0f]+/g;
const SAME = { 10: "T", 小王: "B", 大王: "R" };

/** Typed cards as the server reads them: their ranks, the lowest first, and the signs that are not cards. */
export function parseCards(text) {
  const plain = text.toUpperCase().replace(NOISE, "");
  const ranks = (plain.match(TOKEN) ?? []).map((sign) => LETTERS.indexOf(SAME[sign] ?? sign)).sort((a, b) => a - b);
  return { ranks, unread: plain.replace(TOKEN, "") };
}

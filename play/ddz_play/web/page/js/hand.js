// The person's hand: cards that are chosen by click, by a stroke over several, or by key, and the move that they make.

import { cardElement, cardLetter, slot } from "./cards.js";
import { make } from "./dom.js";
import { word } from "./words.js";

const nameOf = (card) => `${cardLetter(card)}${card.suit}`;
const TYPED = { 0: "T" };
const isChosen = (button) => button.getAttribute("aria-pressed") === "true";

export class Hand {
  /** @param cards as the server sent them, the lowest first; @param changed is called after every choice; @param before the hand that was drawn last. */
  constructor(cards, changed, before = null) {
    this.changed = changed;
    this.cards = [...cards].reverse();
    const chosen = before ? before.chosen.map(nameOf) : [];
    const button = (card, place) => cardElement(card, "button", {
      type: "button", id: `card-${nameOf(card)}`, tabindex: place ? -1 : 0, "aria-pressed": String(chosen.includes(nameOf(card))),
      click: (event) => this.click(event), focus: (event) => this.rove(event.currentTarget),
    });
    this.buttons = this.cards.map(button);
    this.stroke = null; // where a stroke began and what was chosen then
    const events = { keydown: (event) => this.arrow(event), pointerdown: (event) => this.press(event), pointermove: (event) => this.drag(event), pointerup: () => this.release(), pointercancel: () => this.release() };
    this.element = make("div", { class: "hand cards", role: "group", "aria-label": word("your hand"), "data-focus": "hand", ...events }, this.buttons.map(slot));
  }

  toggle(button, on = !isChosen(button)) {
    button.setAttribute("aria-pressed", String(on));
    this.changed();
  }

  /** A click; the one that ends a stroke has nothing more to do. */
  click(event) {
    if (!this.stroke?.far || !event.detail) this.toggle(event.currentTarget);
    this.stroke = null;
  }

  press(event) {
    const from = this.buttons.indexOf(event.target.closest("button"));
    this.stroke = event.isPrimary && event.button === 0 && from >= 0 ? { from, before: this.buttons.map(isChosen), far: false, down: true } : null;
    if (this.stroke) event.target.releasePointerCapture?.(event.pointerId); // a finger belongs to its first card otherwise
  }

  /** All cards between the first and this one become what the first becomes; beyond, they are as they were. */
  drag(event) {
    if (!event.buttons) this.stroke = null; // it ended elsewhere
    if (!this.stroke?.down) return;
    const to = this.buttons.indexOf(document.elementFromPoint(event.clientX, event.clientY)?.closest("button"));
    if (to < 0 || (to === this.stroke.from && !this.stroke.far)) return;
    const { from, before } = this.stroke;
    this.stroke.far = true;
    for (const [place, button] of this.buttons.entries()) {
      const passed = Math.min(from, to) <= place && place <= Math.max(from, to);
      button.setAttribute("aria-pressed", String(passed ? !before[from] : before[place]));
    }
    this.changed();
  }

  /** The click that may follow comes at once, if it comes. */
  release() {
    if (this.stroke) this.stroke.down = false;
    setTimeout(() => { if (!this.stroke?.down) this.stroke = null; });
  }

  /** One card is in the order of Tab; the arrows reach the others. */
  rove(button) {
    for (const other of this.buttons) other.tabIndex = other === button ? 0 : -1;
  }

  arrow(event) {
    const place = this.buttons.indexOf(document.activeElement);
    const last = this.buttons.length - 1;
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (to === undefined || place < 0) return;
    this.buttons[to < 0 ? last : to > last ? 0 : to].focus();
    event.preventDefault();
  }

  /** A typed rank chooses one more card of it, or none when all are chosen; whether it was a rank. */
  type(key) {
    const rank = TYPED[key] ?? key.toUpperCase();
    const same = this.buttons.filter((_, place) => cardLetter(this.cards[place]) === rank);
    if (!same.length) return false;
    const free = same.filter((button) => !isChosen(button));
    if (free.length) this.toggle(free[free.length - 1], true);
    else for (const button of same) this.toggle(button, false);
    return true;
  }

  /** The chosen cards, the highest first. */
  get chosen() {
    return this.cards.filter((_, place) => isChosen(this.buttons[place]));
  }

  /** The chosen cards as the notation writes them, the lowest first. */
  get text() {
    return this.chosen.reverse().map(cardLetter).join("");
  }

  /** Choose the cards of a move (`333+4`); words choose none. */
  choose(move) {
    const wanted = /^[3-9TJQKA2BR+]+$/.test(move) ? [...move].filter((sign) => sign !== "+") : [];
    for (const [place, button] of this.buttons.entries()) {
      const found = wanted.indexOf(cardLetter(this.cards[place]));
      if (found >= 0) wanted.splice(found, 1);
      button.setAttribute("aria-pressed", String(found >= 0));
    }
    this.changed();
  }
}

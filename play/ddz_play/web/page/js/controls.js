// What the person can press below the hand, and the keys that do the same.

import { shortName } from "./agents.js";
import { moveText } from "./cards.js";
import { make } from "./dom.js";
import { word } from "./words.js";

const KEYS = { Enter: "play", p: "pass", h: "hint", u: "undo", n: "next puzzle" };
const TOGGLES = { c: "count", s: "sound" };

const idOf = (name) => name.replaceAll(" ", "-");
const link = (href, name) => make("a", { href, class: "button", id: idOf(name) }, word(name));

export class Controls {
  /** @param view the page of the game, which does what is pressed. */
  constructor(view) {
    this.view = view;
    this.buttons = {}; // by name
  }

  button(name, press, kind = "", text = word(name)) {
    const shortcut = Object.keys(KEYS).find((key) => KEYS[key] === name);
    return (this.buttons[name] = make("button", { type: "button", id: idOf(name), class: kind, click: press, "aria-keyshortcuts": shortcut, title: shortcut && `${text} (${shortcut.length > 1 ? shortcut : shortcut.toUpperCase()})` }, text));
  }

  /** The buttons for the position now. */
  draw() {
    const { view } = this;
    const { play, choices } = view;
    const { game, puzzle, failed } = play;
    this.buttons = {};
    const undo = (kind = "") => this.button("undo", () => view.undo(), kind);
    const next = () => this.button("next puzzle", () => view.next(), play.lost ? "" : "first");
    const solution = () => this.button("hint", () => view.hint(), "", word("solution"));
    if (play.lost && !game.over) return [undo("first"), puzzle && next()];
    if (play.ended) {
      const same = choices.rules.some(({ name }) => name === game.rules) ? this.button("again", () => view.startAgain(), "first") : link("#/", "new game");
      return [game.puzzle ? (puzzle ? next() : link("#/puzzle", "puzzle")) : same, undo(), game.over && link(`#/replay/${play.id}`, game.puzzle ? "step through" : "review")];
    }
    if (failed) {
      const instead = failed.seat !== undefined && this.button("replace", () => view.replace(), "", word("replace", { name: shortName(choices.agent) }));
      return [this.button("retry", () => view.retry(), "first"), instead || null, undo()];
    }
    if (!play.yours) return [undo()];
    const pass = () => [this.button("play", () => view.playChosen(), "first"), this.button("pass", () => view.move("pass"))];
    const yes = game.words.filter((text) => !text.startsWith("no ")); // of several, none is the main one
    const words = () => game.words.map((text) => this.button(text, () => view.move(text), yes.length === 1 && yes[0] === text ? "first" : "", moveText(text)));
    const plays = game.stage === "play";
    return [...(plays ? pass() : words()), game.puzzle ? solution() : this.button("hint", () => view.hint()), plays || game.may_undo ? undo() : null].filter(Boolean);
  }

  /** What can be pressed now. */
  enable() {
    const { busy, asking, hand, choice, play } = this.view;
    const { buttons } = this;
    for (const button of Object.values(buttons)) button.disabled = busy;
    if (buttons.play) buttons.play.disabled = busy || !hand.text;
    buttons.play?.setAttribute("aria-disabled", String(!choice?.readings.length)); // grey, but it says why
    if (buttons.pass) buttons.pass.disabled = busy || !play.game.may_pass;
    if (buttons.undo) buttons.undo.disabled = busy || !play.game.may_undo;
    if (buttons.hint) buttons.hint.disabled = busy || asking;
  }

  pressKey(event) {
    const { view } = this;
    const { hand, play } = view;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
    if (event.key === "Escape") return hand.choose("");
    if (TOGGLES[event.key]) return view.toggle(TOGGLES[event.key]);
    if (event.key === "Enter" && event.target.closest?.(`button:enabled:not(.card${view.suggested ? ", #hint" : ""}), a, summary`)) return; // a button that has just been switched off is still in focus
    if (event.key === "Enter" && play.yours && /^[a-z]/.test(view.suggested ?? "") && !hand.text) {
      event.preventDefault();
      return view.move(view.suggested);
    }
    const button = this.buttons[KEYS[event.key]];
    if (button && !button.disabled) button.click();
    else if (event.key.length > 1 || play.ended || !hand.type(event.key)) return;
    event.preventDefault();
  }
}

/** The keys of a page; hidden where there is no keyboard. */
export const keysElement = (about) => make("details", { class: "panel keys" }, make("summary", {}, word("keys")), make("p", {}, word(about)));

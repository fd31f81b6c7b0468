// The page of a game with the person at the table: the table, the hand, what was said, and what the person does.

import { loadChoices } from "./agents.js";
import { download, get, post } from "./api.js";
import { moveText } from "./cards.js";
import { Controls, keysElement } from "./controls.js";
import { announce, restoreFocus, findFocus, headingElement, clearMessage, showNotice, make, messagesElement, showError, redraw } from "./dom.js";
import { Hand } from "./hand.js";
import { Play, skipPause } from "./play.js";
import { nextPuzzle } from "./puzzle.js";
import { saveGame } from "./recent.js";
import { endingText, resultElement } from "./result.js";
import { setSetting, getSetting } from "./settings.js";
import { playMoveSound } from "./sounds.js";
import { countElement, logElement, tableElement, playerName, playerNameWithRole } from "./table.js";
import { numbersElement, reasonText, thoughtsElement } from "./thoughts.js";
import { setTitle, word } from "./words.js";

/** The page of a game, with its number if it is a puzzle; it returns what ends it when the person goes elsewhere. */
export async function gamePage(root, id, number) {
  const game = await get(`games/${id}`, "dealing");
  if (game.seat === null) return void (location.hash = `#/replay/${id}`);
  const view = new GameView(root, id, Number(number) || null, game, await loadChoices());
  view.open();
  return () => view.close();
}

class GameView {
  constructor(root, id, puzzle, game, choices) {
    this.root = root;
    this.choices = choices; // what a form offers
    this.play = new Play(id, puzzle, game, (moved) => this.draw(moved));
    this.controls = new Controls(this);
    this.busy = false;
    this.asking = false; // for a hint; the cards can be played meanwhile
    this.hand = null;
    this.choice = null; // what the chosen cards can be played as
    this.suggestion = -1; // the move of a hint whose cards are raised
    this.drawn = game.number; // moves
    this.ended = game.over; // before this page looked
    this.listeners = [
      [document, "keydown", (event) => this.controls.pressKey(event)],
      [document, "visibilitychange", () => { if (!document.hidden) this.runAlone(() => this.play.catchUp()); }],
      [window, "pagehide", () => this.saveDraft()],
      [root, "click", (event) => { if (!event.target.closest("button, a, summary")) skipPause(); }],
    ];
  }

  open() {
    const left = JSON.parse(sessionStorage.getItem("game")); // what was chosen and said before a reload
    if (left?.id === this.play.id && left.number === this.play.game.number) {
      this.play.thoughts = left.thoughts;
      this.suggestion = left.suggestion;
      this.hand = left;
    }
    for (const [target, name, listener] of this.listeners) target.addEventListener(name, listener);
    this.draw();
    this.runAlone(() => this.play.playOthers());
  }

  close() {
    this.saveDraft(); // another language draws the page again
    this.play.alive = false;
    for (const [target, name, listener] of this.listeners) target.removeEventListener(name, listener);
  }

  saveDraft() {
    const { id, game, thoughts } = this.play;
    sessionStorage.setItem("game", JSON.stringify({ id, number: game.number, chosen: this.hand.chosen, thoughts, suggestion: this.suggestion }));
  }

  // --- what the person does ---

  /** Do something while nothing else can be pressed; what goes wrong is said. */
  async runAlone(work) {
    if (this.busy || !this.play.alive) return;
    const was = findFocus(this.root);
    this.busy = true;
    clearMessage();
    this.enable();
    try {
      await work();
    } catch (error) {
      if (error.status === 409 || error.status === 507) await this.play.reload(); // another page has moved, or nothing was kept
      showError(error.message);
    } finally {
      this.busy = false;
      this.enable();
      restoreFocus(this.root, was);
    }
  }

  enable() {
    this.root.setAttribute("aria-busy", String(this.busy));
    this.controls.enable();
  }

  /** What the chosen cards can be played as, which is known as soon as they lie still. */
  async findReadings() {
    const { id, game } = this.play;
    const about = () => `${this.play.game.number} ${this.hand.text}`;
    const now = about();
    const choice = this.choice?.now === now ? this.choice : { now, ...(await post(`games/${id}/choice`, { text: this.hand.text, moves: game.number }, null)) };
    if (now === about()) this.choice = choice;
    return choice;
  }

  /** The person has chosen other cards. */
  chosen() {
    this.choice = null;
    this.enable();
    const { yours, game } = this.play;
    if (this.hand.text && yours && game.stage === "play") this.findReadings().then(() => this.enable(), () => {}); // who plays hears of a fault
  }

  playChosen() {
    this.runAlone(async () => {
      const { readings, reason } = await this.findReadings();
      if (reason) showError(this.complaint(reason));
      else if (readings.length > 1) this.askWhichMove(readings);
      else await this.play.go("move", { text: readings[0] });
    });
  }

  /** Why the chosen cards cannot be played, in a player's words. */
  complaint(reason) {
    const beaten = this.play.leader?.play;
    if (reason === "no combination" || !beaten) return word("no combination");
    return word(beaten.category === "bomb" || !this.play.game.bombs ? "beat" : "beat or bomb", { move: moveText(beaten.text) });
  }

  /** Let the person choose between moves of the same cards. */
  askWhichMove(texts) {
    const close = () => dialog.close();
    const press = (text) => make("button", { type: "button", click: () => { close(); this.move(text); } }, moveText(text));
    const dialog = make("dialog", { class: "panel", close: () => dialog.remove() }, make("p", {}, word("choose reading")), make("div", { class: "controls" }, texts.map(press), make("button", { type: "button", click: close }, word("back"))));
    this.root.append(dialog);
    dialog.showModal();
  }

  move(text) { this.runAlone(() => this.play.go("move", { text })); }
  undo() { this.runAlone(() => this.play.go("undo")); }
  retry() { this.runAlone(async () => { this.play.failed = null; this.draw(); await this.play.playOthers(); }); }
  replace() { this.runAlone(() => this.play.go("replace", { seat: this.play.failed.seat, agent: this.choices.agent })); }
  next() { this.runAlone(async () => (location.hash = await nextPuzzle(this.play.puzzle))); }

  /** Another game like this one. */
  startAgain() {
    const { id, game } = this.play;
    const agents = game.names.map((name) => (name === "person" ? this.choices.agent : name));
    const asked = { rules: game.rules, seat: game.seat, agents, after: id };
    this.runAlone(async () => (location.hash = `#/game/${(await post("games", asked, "dealing")).id}`));
  }

  save() {
    const { id, game } = this.play;
    this.runAlone(async () => { await download(id); if (!game.over && !game.puzzle) showNotice(word("saved seen")); });
  }

  /** The first press raises the cards of the best move, each further one those of the next. */
  async hint() {
    if (this.asking || this.busy) return;
    const { number } = this.play.game;
    if (this.play.thoughts) return this.suggest((this.suggestion + 1) % this.play.thoughts.moves.length);
    this.asking = true;
    clearMessage();
    this.enable();
    try {
      await this.play.think();
      if (this.play.thoughts) this.suggest(0);
    } catch (error) {
      if (this.play.alive && this.play.game.number === number) showError(error.message); // else it comes too late
    } finally {
      this.asking = false;
      this.enable();
    }
  }

  suggest(place) {
    this.suggestion = place;
    this.draw();
    this.hand.choose(this.suggested);
    const shown = this.controls.buttons[this.suggested] ?? this.hand.element.querySelector("[aria-pressed=true]");
    shown?.focus({ preventScroll: true }); // Enter plays it
  }

  /** The move of the hint that is raised. */
  get suggested() {
    return this.play.thoughts?.moves[this.suggestion]?.text ?? null;
  }

  toggle(name) {
    setSetting(name, !getSetting(name));
    this.draw();
  }

  // --- what the person sees ---

  statusText() {
    const { game, failed, yours, lost } = this.play;
    if (this.play.redealt) return word("redealt");
    if (lost && !game.over) return word("lost move");
    if (this.play.ended) return game.puzzle ? `${this.puzzleEnd().title} ${this.puzzleEnd().text}` : endingText(game);
    if (failed) return failed.text;
    if (!yours) return word("their turn", { name: playerNameWithRole(game, game.turn) });
    if (game.stage !== "play") return word(`your ${game.question}`);
    if (!game.to_beat) return word("your lead");
    const key = game.must_pass ? "must pass" : this.play.partnerLeads ? "partner leads" : "your turn";
    return word(key, { move: moveText(game.to_beat) });
  }

  /** How a puzzle ended. */
  puzzleEnd() {
    if (this.play.lost) return { title: word("lost"), text: word("check") };
    return this.play.game.followed ? { title: word("followed"), text: word("not counted") } : { title: word("solved"), text: word("solved about") };
  }

  /** The line over the hand, or the banner of a game that is over. */
  headlineElement() {
    const { game, lost } = this.play;
    if (!this.play.ended || (lost && !game.over)) return make("p", { class: `status ${lost ? "bad" : ""}` }, this.statusText());
    const { title, text } = game.puzzle ? this.puzzleEnd() : {};
    return resultElement(game, title, text);
  }

  /** What stands beside the table. */
  sideElement() {
    const { puzzle, game, thoughts, yours } = this.play;
    const goal = game.puzzle && make("section", { class: "panel" }, puzzle && make("h2", {}, word("puzzle number", { n: puzzle })), make("p", {}, word("puzzle first")));
    const choose = (text) => (/^[a-z]/.test(text) ? this.move(text) : this.suggest(thoughts.moves.findIndex((move) => move.text === text)));
    const names = game.names.map((_, seat) => playerNameWithRole(game, seat));
    const save = make("button", { type: "button", id: "save", click: () => this.save() }, word("save"));
    const panels = [goal, thoughts && thoughtsElement(thoughts, yours ? choose : null, word(game.puzzle ? "the solution" : "thoughts")), thoughts && numbersElement(thoughts, names), logElement(game, null, [], save), game.over && !game.puzzle && make("p", { class: "source" }, word("dealt by seed", { seed: game.seed })), keysElement("keys game")];
    return make("aside", { class: "side" }, panels.filter(Boolean));
  }

  /** What a hint says, on the table itself. */
  adviceElement() {
    const { thoughts } = this.play;
    if (!this.suggested) return null;
    const why = this.suggestion === 0 ? reasonText(thoughts) : thoughts.moves[this.suggestion].compared && word(thoughts.moves[this.suggestion].compared);
    return make("p", { class: "advice", role: "status" }, make("b", {}, moveText(this.suggested)), why ? ` · ${why}` : "");
  }

  /** What can be switched on and off at the table. */
  toggleElements() {
    const button = (name, key) => make("button", { type: "button", id: name, class: "toggle", "aria-pressed": String(Boolean(getSetting(name))), "aria-keyshortcuts": key, title: `${word(name)} (${key.toUpperCase()})`, click: () => this.toggle(name) }, word(name));
    const { unseen } = this.play.game;
    return [make("div", { class: "toggles" }, unseen && button("count", "c"), button("sound", "s")), unseen && getSetting("count") && countElement(unseen)];
  }

  /** Draw everything; chosen cards stay chosen, unless the person has moved. */
  draw(moved = false) {
    const { alive, id, puzzle, game } = this.play;
    if (!alive) return;
    saveGame(game, puzzle);
    const end = this.play.ended && !this.ended;
    this.ended = this.play.ended;
    const news = game.number > this.drawn;
    if (news) playMoveSound(game);
    const heard = game.moves.slice(news ? this.drawn - game.number : game.moves.length).filter(({ seat }) => seat !== game.seat);
    this.drawn = game.number;
    if (!this.play.thoughts) this.suggestion = -1;
    this.hand = new Hand(game.table.seats[game.seat].hand, () => { clearMessage(); this.chosen(); }, moved ? null : this.hand);
    const below = make("div", { class: "below" }, messagesElement(this.headlineElement()), this.adviceElement(), this.hand.element, make("div", { class: "controls", "data-focus": "controls" }, this.controls.draw()));
    announce([...heard.map(({ seat, text }) => `${playerName(game, seat)}: ${moveText(text)}.`), this.statusText()].join(" "));
    setTitle(this.statusText());
    this.chosen();
    const title = puzzle ? word("puzzle number", { n: puzzle }) : word(`rules ${game.rules}`);
    redraw(this.root, headingElement(title), make("div", { class: "desk" }, tableElement(game, below, this.toggleElements(), news), this.sideElement()));
    if (end) this.root.querySelector(".result")?.focus({ preventScroll: true }); // where Enter does nothing
  }
}

// A game that the person plays, as the server has it, with what is known of the position now.

import { get, post } from "./api.js";

const PAUSE = 500; // ms before each move of an agent, so that it can be followed
const PASSED = 700; // ms that a pass is seen before the next move
const DECLINED = 1200; // ms that it is said that nobody has bid, before new cards
const FORCED = 1400; // ms after which a pass that is forced is played

let endPause = () => {}; // ends the pause that is under way

/** Wait, unless a click skips it. */
const pause = (time) => new Promise((done) => { endPause = done; setTimeout(done, time); });

/** How many moves came before these cards: auctions in which everybody declined. */
const countDeclined = ({ number, moves }) => number - moves.length;

export const skipPause = () => endPause();

export class Play {
  /** @param puzzle its number, if it is one of the puzzles; @param redraw is called when something else is to be seen, with whether the person has moved. */
  constructor(id, puzzle, game, redraw) {
    Object.assign(this, { id, puzzle, game, redraw });
    this.alive = true;
    this.thoughts = null; // what an adviser thinks
    this.failed = null; // why the others do not go on
    this.redealt = false; // everybody has declined, and new cards come
  }

  get yours() {
    return !this.game.over && this.game.turn === this.game.seat;
  }

  /** Whether a puzzle cannot be won any more. */
  get lost() {
    return this.game.verdict === "lost";
  }

  /** Whether there is nothing more to play: a puzzle ends when it is decided. */
  get ended() {
    return this.game.over || Boolean(this.game.verdict);
  }

  /** The seat whose move is to be beaten. */
  get leader() {
    return this.game.table.seats.find(({ play }) => play?.to_beat);
  }

  /** Whether that is the other peasant. */
  get partnerLeads() {
    const { table, seat } = this.game;
    return table.seats.length > 2 && ![this.leader.number, seat].includes(table.landlord);
  }

  async send(path, body) {
    const own = path !== "advance";
    const game = await post(`games/${this.id}/${path}`, { ...body, moves: this.game.number }, own ? "moment" : null);
    if (countDeclined(game) > countDeclined(this.game)) await this.showDeclined();
    this.game = game;
    this.forget(own);
  }

  /** Say that everybody has declined, before the new cards are seen. */
  async showDeclined() {
    this.redealt = true;
    this.forget();
    await pause(DECLINED);
    this.redealt = false;
  }

  /** What was thought of another position is of no use; draw this one. */
  forget(moved = false) {
    this.thoughts = this.failed = null;
    this.redraw(moved);
  }

  /** The game as it is now, after moves of any seat. */
  async reload() {
    this.game = await get(`games/${this.id}`);
    this.forget();
  }

  /** Another page may have moved. */
  async catchUp() {
    const now = await get(`games/${this.id}`, null);
    if (now.number !== this.game.number) await this.reload();
    await this.playOthers();
  }

  /** What needs no decision of the person's. */
  async playOthers() {
    while (this.alive && !this.ended && (!this.yours || this.game.must_pass)) {
      const last = this.game.moves.at(-1)?.text;
      try {
        await pause(this.game.must_pass ? FORCED : last === "pass" ? PASSED : PAUSE);
        if (!this.alive) return;
        await (this.game.must_pass ? this.send("move", { text: "pass" }) : this.send("advance"));
      } catch (error) {
        if (error.status === 409) { await this.reload(); continue; }
        this.failed = { text: error.message, seat: error.data?.failed };
        return this.redraw();
      }
    }
  }

  async go(path, body) {
    await this.send(path, body);
    await this.playOthers();
  }

  /** The answer about this position, unless the game has moved on meanwhile. */
  async ask(path, why) {
    const { number } = this.game;
    const answer = await post(`games/${this.id}/${path}`, {}, why);
    return this.alive && this.game.number === number && !this.game.over ? answer : null;
  }

  /** Think of this position; of a puzzle the rest is shown, and it does not count as solved then. */
  async think() {
    if (!this.game.puzzle) {
      this.thoughts = (await this.ask("hint", "searching")) ?? this.thoughts;
      return;
    }
    const solution = await this.ask("solution", "searching");
    if (!solution?.wins) return;
    const [text, ...line] = solution.line;
    this.thoughts = { moves: [{ text, group: 0, line }] };
  }
}

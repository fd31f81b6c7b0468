// A game that the person plays, as the server has it, with what is known of the position now.

import { get, post } from "./api.js";
import { mark } from "./recent.js";

const PAUSE = 350; // ms between the moves of agents, so that they can be followed
const FORCED = 1400; // ms after which a pass that is forced is played

const pause = (time) => new Promise((done) => setTimeout(done, time));

export class Play {
  /** @param puzzle its number, if it is one of the puzzles; @param show is called when something else is to be seen, with whether the person has moved. */
  constructor(id, puzzle, game, show) {
    Object.assign(this, { id, puzzle, game, show });
    this.alive = true;
    this.thoughts = null; // what an adviser thinks
    this.solution = null; // of a puzzle: whether the person still wins, and how
    this.failed = null; // why the others do not go on
  }

  get yours() {
    return !this.game.over && this.game.turn === this.game.seat;
  }

  /** Whether a puzzle cannot be won any more. */
  get lost() {
    return this.yours && this.solution?.wins === false;
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
    this.game = await post(`games/${this.id}/${path}`, { ...body, moves: this.game.number }, own ? "moment" : null);
    this.forget(own);
  }

  /** What was thought of another position is of no use; draw this one. */
  forget(moved = false) {
    this.thoughts = this.solution = this.failed = null;
    this.show(moved);
  }

  /** The game as it is now, after moves of any seat. */
  async fresh() {
    this.game = await get(`games/${this.id}`);
    this.forget();
  }

  /** Another page may have moved. */
  async lookAgain() {
    const now = await get(`games/${this.id}`, null);
    if (now.number !== this.game.number) await this.fresh();
    await this.others();
  }

  /** What needs no decision of the person's. */
  async others() {
    while (this.alive && !this.game.over && (!this.yours || this.game.must_pass)) {
      const before = performance.now();
      try {
        if (!this.game.must_pass) await this.send("advance");
        else if ((await pause(FORCED), this.alive)) await this.send("move", { text: "pass" });
      } catch (error) {
        if (error.status === 409) { await this.fresh(); continue; }
        this.failed = { text: error.message, seat: error.data?.failed };
        return this.show();
      }
      await pause(PAUSE - (performance.now() - before));
    }
    this.judge();
  }

  async go(path, body) {
    await this.send(path, body);
    await this.others();
  }

  /** The answer about this position, unless the game has moved on meanwhile. */
  async ask(path, why) {
    const { number } = this.game;
    const answer = await post(`games/${this.id}/${path}`, {}, why);
    return this.alive && this.game.number === number && !this.game.over ? answer : null;
  }

  /** Whether a puzzle can still be won: shown after every move. */
  async judge() {
    if (!this.game.puzzle || !this.game.number || !this.yours) return;
    this.solution = await this.ask("solution", null).catch(() => null);
    if (this.solution) this.show();
  }

  /** Think of this position; of a puzzle the rest is shown, and it does not count as solved then. */
  async think() {
    if (!this.game.puzzle) {
      this.thoughts = (await this.ask("hint", "searching")) ?? this.thoughts;
      return;
    }
    this.solution = await this.ask("solution", "searching");
    if (!this.solution?.wins) return;
    mark(this.puzzle, this.id);
    const [text, ...line] = this.solution.line;
    this.thoughts = { moves: [{ text, group: 0, line }] };
  }
}

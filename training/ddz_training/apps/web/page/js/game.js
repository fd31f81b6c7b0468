// A game with the person at the table: its moves, hints, undo, and what can be looked into.

import { offers, short } from "./agents.js";
import { download, get, post } from "./api.js";
import { said } from "./cards.js";
import { announce, focusAgain, focused, hush, inform, make, messages, notify, redraw } from "./dom.js";
import { Hand } from "./hand.js";
import { nextPuzzle } from "./puzzle.js";
import { mark, puzzles, remember } from "./recent.js";
import { ending, resultElement } from "./result.js";
import { logElement, tableElement, whoAs } from "./table.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const PAUSE = 350; // ms between the moves of agents, so that they can be followed
const FORCED = 1400; // ms after which a pass that is forced is played
const KEYS = { Enter: "play", p: "pass", h: "hint", u: "undo" };

const idOf = (name) => name.replaceAll(" ", "-");

/** The page of a game, with its number if it is a puzzle; it returns what ends it when the person goes elsewhere. */
export async function gamePage(root, id, number) {
  let alive = true;
  let busy = false;
  let game = await get(`games/${id}`, "dealing");
  if (game.seat === null) return void (location.hash = `#/replay/${id}`);
  const choices = await offers();
  const left = JSON.parse(sessionStorage.getItem("game")); // what was chosen and said before a reload
  const back = left?.id === id && left.number === game.number;
  let thoughts = back ? left.thoughts : null;
  let hand = back ? left : null;
  let choice = null; // what the chosen cards can be played as
  let asking = false; // for a hint; the cards can be played meanwhile
  let failed = null; // why the others do not go on
  let ended = game.over; // before this page looked
  let solution = null; // of a puzzle, from the position now: whether the person still wins, and how
  const puzzle = Number(number) || null;
  const buttons = {};

  const yours = () => !game.over && game.turn === game.seat;
  const lost = () => yours() && solution?.wins === false;

  const leader = () => game.table.seats.find(({ play }) => play?.to_beat);

  /** Why the chosen cards cannot be played, in a player's words. */
  function complaint(reason) {
    const play = leader()?.play;
    if (reason === "no combination" || !play) return word("no combination");
    return word(play.category === "bomb" || !game.bombs ? "beat" : "beat or bomb", { move: said(play.text) });
  }

  async function act(work) {
    if (busy || !alive) return;
    const was = focused(root);
    busy = true;
    hush();
    enable();
    try {
      await work();
    } catch (error) {
      if (error.status === 409 || error.status === 507) await fresh(); // another page has moved, or nothing was kept
      notify(error.message);
    } finally {
      busy = false;
      enable();
      focusAgain(root, was);
    }
  }

  async function send(path, body) {
    const own = path !== "advance";
    game = await post(`games/${id}/${path}`, { ...body, moves: game.number }, own ? "moment" : null);
    if (own) hand = null; // what was chosen has been played, or was for another position
    forget();
  }

  /** What was thought of another position is of no use; draw this one. */
  function forget() {
    thoughts = solution = failed = null;
    show();
  }

  /** The game as it is now, after moves of any seat. */
  async function fresh() {
    game = await get(`games/${id}`);
    forget();
  }

  const pause = (time) => new Promise((done) => setTimeout(done, time));

  /** What needs no decision of the person's. */
  async function others() {
    while (alive && !game.over && (!yours() || game.must_pass)) {
      const before = performance.now();
      try {
        if (!game.must_pass) await send("advance");
        else if ((await pause(FORCED), alive)) await send("move", { text: "pass" });
      } catch (error) {
        if (error.status === 409) { await fresh(); continue; }
        failed = { text: error.message, seat: error.data?.failed };
        return show();
      }
      await pause(PAUSE - (performance.now() - before));
    }
    judge();
  }

  async function go(path, body) {
    await send(path, body);
    await others();
  }

  /** The answer about this position, unless the game has moved on meanwhile. */
  async function ask(path, why) {
    const { number: before } = game;
    const found = await post(`games/${id}/${path}`, {}, why);
    return alive && game.number === before && !game.over ? found : null;
  }

  /** Whether a puzzle can still be won: shown after every move. */
  async function judge() {
    if (!game.puzzle || !game.number || !yours()) return;
    solution = await ask("solution", null).catch(() => null);
    if (solution) show();
  }

  async function hint() {
    if (asking || busy) return;
    const { number: at } = game;
    asking = true;
    hush();
    enable();
    try {
      if (game.puzzle) await solve();
      else thoughts = (await ask("hint", "searching")) ?? thoughts;
      if (alive) show();
    } catch (error) {
      if (alive && game.number === at) notify(error.message); // else it comes too late
    } finally {
      asking = false;
      enable();
    }
  }

  /** Show the rest of a puzzle; it does not count as solved then. */
  async function solve() {
    solution = await ask("solution", "searching");
    if (!solution?.wins) return;
    mark(puzzle, id);
    const [text, ...line] = solution.line;
    thoughts = { moves: [{ text, group: 0, line }] };
  }

  /** What the chosen cards can be played as, which is known as soon as they lie still. */
  async function look() {
    const about = () => `${game.number} ${hand.text}`;
    const now = about();
    const found = choice?.now === now ? choice : { now, ...(await post(`games/${id}/choice`, { text: hand.text, moves: game.number }, null)) };
    if (now === about()) choice = found;
    return found;
  }

  function chosen() {
    choice = null;
    enable();
    if (hand.text && yours() && game.stage === "play") look().then(enable, () => {}); // who plays hears of a fault
  }

  const play = () => act(async () => {
    const { readings, reason } = await look();
    if (reason) notify(complaint(reason));
    else if (readings.length > 1) pick(readings);
    else await go("move", { text: readings[0] });
  });
  const move = (text) => act(() => go("move", { text }));
  const undo = () => act(() => go("undo"));
  const retry = () => act(async () => { failed = null; show(); await others(); });
  const replace = () => act(() => go("replace", { seat: failed.seat, agent: choices.agent }));
  const next = () => act(async () => (location.hash = await nextPuzzle(puzzle)));
  const again = () => act(async () => {
    const agents = game.names.map((name) => (name === "person" ? choices.agent : name));
    location.hash = `#/game/${(await post("games", { rules: game.rules, seat: game.seat, agents, after: id }, "dealing")).id}`;
  });

  const save = () => act(async () => { await download(id); if (!game.over && !game.puzzle) inform(word("saved seen")); });

  function pick(texts) {
    const close = () => dialog.close();
    const press = (text) => make("button", { type: "button", click: () => { close(); move(text); } }, said(text));
    const dialog = make("dialog", { class: "panel", close: () => dialog.remove() }, make("p", {}, word("choose reading")), make("div", { class: "controls" }, texts.map(press), make("button", { type: "button", click: close }, word("back"))));
    root.append(dialog);
    dialog.showModal();
  }

  function enable() {
    root.setAttribute("aria-busy", String(busy));
    for (const button of Object.values(buttons)) button.disabled = busy;
    if (buttons.play) buttons.play.disabled = busy || !hand.text;
    buttons.play?.setAttribute("aria-disabled", String(!choice?.readings.length)); // grey, but it says why
    if (buttons.pass) buttons.pass.disabled = busy || !game.may_pass;
    if (buttons.undo) buttons.undo.disabled = busy || !game.may_undo;
    if (buttons.hint) buttons.hint.disabled = busy || asking;
  }

  function button(name, press, kind = "", text = word(name)) {
    return (buttons[name] = make("button", { type: "button", id: idOf(name), class: kind, click: press, "aria-keyshortcuts": Object.keys(KEYS).find((key) => KEYS[key] === name) }, text));
  }

  function controls() {
    for (const name of Object.keys(buttons)) delete buttons[name];
    const link = (href, name) => make("a", { href, class: "button", id: idOf(name) }, word(name));
    if (game.over) {
      const same = choices.rules.some(({ name }) => name === game.rules) ? button("again", again, "first") : link("#/", "new game");
      const more = puzzle ? button("next puzzle", next, "first") : link("#/puzzle", "puzzle");
      return [game.puzzle ? more : same, button("undo", undo), button("save", save), link(`#/replay/${id}`, "step through")];
    }
    if (failed) {
      const instead = failed.seat !== undefined && button("replace", replace, "", word("replace", { name: short(choices.agent) }));
      return [button("retry", retry, "first"), instead || null, button("undo", undo)];
    }
    if (!yours()) return [button("undo", undo), button("save", save)];
    const words = game.words.map((text) => button(text, () => move(text), "first", said(text)));
    const own = game.stage === "play" ? [button("play", play, lost() ? "" : "first"), button("pass", () => move("pass"))] : words;
    const help = !lost() && button("hint", hint, "", word(game.puzzle ? "solution" : "hint"));
    return [...own, help, button("undo", undo, lost() ? "first" : ""), button("save", save)];
  }

  function status() {
    if (game.over) return game.puzzle ? `${puzzleEnd().title} ${puzzleEnd().text}` : ending(game);
    if (failed) return failed.text;
    if (!yours()) return word("their turn", { name: whoAs(game, game.turn) });
    if (lost()) return word("lost move");
    if (game.stage !== "play") return word(`your ${game.question}`);
    if (!game.to_beat) return word("your lead");
    const key = game.must_pass ? "must pass" : partners(leader().number) ? "partner leads" : "your turn";
    return word(key, { move: said(game.to_beat) });
  }

  const partners = (seat) => game.table.seats.length > 2 && ![seat, game.seat].includes(game.table.landlord);

  /** How a puzzle ended. */
  function puzzleEnd() {
    if (!(game.result > 0)) return { title: word("lost"), text: word("check") };
    return puzzles()[puzzle] === id ? { title: word("followed"), text: word("not counted") } : { title: word("solved"), text: word("solved about") };
  }

  const choose = (text) => (/^[a-z]/.test(text) ? move(text) : hand.choose(text));

  /** The line over the hand, or the banner of a game that is over. */
  function headline() {
    if (!game.over) return make("p", { class: `status ${lost() ? "bad" : ""}` }, status());
    const { title, text } = game.puzzle ? puzzleEnd() : {};
    return resultElement(game, title, text);
  }

  function show() {
    if (!alive) return;
    if (game.over && game.puzzle && game.result > 0 && puzzles()[puzzle] !== id) mark(puzzle, "solved");
    remember(game, puzzle);
    const end = game.over && !ended;
    hand = new Hand(game.table.seats[game.seat].hand, () => { hush(); chosen(); }, hand);
    const below = make("div", { class: "below" }, messages(headline()), hand.element, make("div", { class: "controls", "data-focus": "controls" }, controls()));
    ended = game.over;
    const goal = game.puzzle && make("section", { class: "panel" }, puzzle && make("h2", {}, word("puzzle number", { n: puzzle })), make("p", {}, word("puzzle first")));
    const names = game.names.map((_, seat) => whoAs(game, seat));
    const side = [goal, thoughts && thoughtsElement(thoughts, yours() ? choose : null, word(game.puzzle ? "the solution" : "thoughts")), thoughts && beliefsElement(thoughts, names, false), logElement(game), keysElement("keys game")];
    announce(status());
    chosen();
    redraw(root, make("div", { class: "desk" }, tableElement(game, below), make("aside", { class: "side" }, side.filter(Boolean))));
    if (end) root.querySelector(".result").focus({ preventScroll: true }); // where Enter does nothing
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
    if (event.key === "Escape") return hand.choose("");
    if (event.key === "Enter" && event.target.closest?.("button:not(.card), a, summary")) return;
    const button = buttons[KEYS[event.key]];
    if (button && !button.disabled) button.click();
    else if (event.key.length > 1 || game.over || !hand.type(event.key)) return;
    event.preventDefault();
  }

  const keep = () => sessionStorage.setItem("game", JSON.stringify({ id, number: game.number, chosen: hand.chosen, thoughts }));
  const seen = () => { if (!document.hidden) act(async () => { const now = await get(`games/${id}`, null); if (now.number !== game.number) await fresh(); await others(); }); };
  document.addEventListener("keydown", key);
  document.addEventListener("visibilitychange", seen);
  window.addEventListener("pagehide", keep);
  show();
  act(others);
  return () => {
    alive = false;
    window.removeEventListener("pagehide", keep);
    document.removeEventListener("keydown", key);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** The keys of a page; hidden where there is no keyboard. */
export const keysElement = (about) => make("details", { class: "panel keys" }, make("summary", {}, word("keys")), make("p", {}, word(about)));

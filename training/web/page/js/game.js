// A game with the person at the table: its moves, hints, undo, and what can be looked into.

import { get, post } from "./api.js";
import { announce, focusAgain, focused, make, notify, redraw } from "./dom.js";
import { Hand } from "./hand.js";
import { remember } from "./recent.js";
import { logElement, said, short, tableElement, whoAs } from "./table.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const PAUSE = 350; // ms between the moves of agents, so that they can be followed
const KEYS = { Enter: "play", p: "pass", h: "hint", u: "undo" };

const idOf = (name) => name.replaceAll(" ", "-");

/** The page of a game; it returns what ends it when the person goes elsewhere. */
export async function gamePage(root, id) {
  let alive = true;
  let busy = false;
  let game = await get(`games/${id}`);
  if (game.seat === null) return void (location.hash = `#/replay/${id}`);
  const choices = await get("choices");
  let thoughts = null;
  let hand = null;
  let failed = null; // why the others do not go on
  const buttons = {};
  remember(game);

  const yours = () => !game.over && game.turn === game.seat;

  async function act(work) {
    if (busy || !alive) return;
    const was = focused(root);
    busy = true;
    enable();
    try {
      await work();
    } catch (error) {
      if (error.data?.readings) readings(error.data.readings);
      else {
        notify(error.message);
        if (error.status === 409 || error.status === 507) await fresh(); // another page has moved, or nothing was kept
      }
    } finally {
      busy = false;
      enable();
      focusAgain(root, was);
    }
  }

  async function send(path, body) {
    game = await post(`games/${id}/${path}`, body);
    if (path !== "advance") hand = null; // what was chosen has been played, or was for another position
    thoughts = null;
    failed = null;
    show();
  }

  /** The game as it is now, whoever moved. */
  async function fresh() {
    game = await get(`games/${id}`);
    thoughts = null;
    failed = null;
    show();
  }

  async function others() {
    while (alive && !game.over && game.turn !== game.seat) {
      const before = performance.now();
      try {
        await send("advance", { moves: game.number });
      } catch (error) {
        if (error.status === 409) { await fresh(); continue; }
        failed = { text: error.message, seat: error.data?.failed };
        return show();
      }
      const wait = PAUSE - (performance.now() - before);
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    }
  }

  const move = (text, exact = false) => act(async () => { await send("move", { text, exact, moves: game.number }); await others(); });
  const undo = () => act(async () => { await send("undo", { moves: game.number }); await others(); });
  const hint = () => act(async () => { thoughts = await post(`games/${id}/hint`); show(); });
  const retry = () => act(async () => { failed = null; show(); await others(); });
  const replace = () => act(async () => { await send("replace", { seat: failed.seat, agent: choices.agent, moves: game.number }); await others(); });

  function save() {
    act(async () => {
      const { text, name } = await get(`games/${id}/record`);
      const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      make("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
      notify(word(game.over || game.puzzle ? "saved whole" : "saved seen"));
    });
  }

  function readings(texts) {
    const close = () => { dialog.close(); dialog.remove(); };
    const press = (text) => make("button", { type: "button", click: () => { close(); move(text, true); } }, text);
    const dialog = make("dialog", { class: "panel", close: () => dialog.remove() }, make("p", {}, word("choose reading")), make("div", { class: "controls" }, texts.map(press), make("button", { type: "button", click: close }, word("back"))));
    root.append(dialog);
    dialog.showModal();
  }

  function enable() {
    root.setAttribute("aria-busy", String(busy));
    for (const button of Object.values(buttons)) button.disabled = busy;
    if (buttons.play) buttons.play.disabled = busy || !hand.text;
    if (buttons.pass) buttons.pass.disabled = busy || !game.may_pass;
    if (buttons.undo) buttons.undo.disabled = busy || !game.may_undo;
  }

  function button(name, press, kind = "", text = word(name)) {
    return (buttons[name] = make("button", { type: "button", id: idOf(name), class: kind, click: press, "aria-keyshortcuts": Object.keys(KEYS).find((key) => KEYS[key] === name) }, text));
  }

  function controls() {
    for (const name of Object.keys(buttons)) delete buttons[name];
    const link = (href, name) => make("a", { href, class: "button", id: idOf(name) }, word(name));
    if (game.over) {
      const next = game.puzzle ? link("#/puzzle", "next puzzle") : link("#/", "again");
      return [next, button("undo", undo), button("save", save), link(`#/replay/${id}`, "step through")];
    }
    if (failed) {
      const instead = failed.seat !== undefined && button("replace", replace, "", word("replace", { name: short(choices.agent) }));
      return [button("retry", retry, "first"), instead || null, button("undo", undo)];
    }
    if (!yours()) return [button("undo", undo), button("save", save)];
    const words = game.words.map((text) => button(text, () => move(text), "first", said(text)));
    const own = game.stage === "play" ? [button("play", () => move(hand.text), "first"), button("pass", () => move("pass"))] : words;
    return [...own, button("hint", hint, "", word(game.puzzle ? "solution" : "hint")), button("undo", undo), button("save", save)];
  }

  function status() {
    if (game.over && game.puzzle) return word(game.result > 0 ? "solved" : "check");
    if (game.over) return ending(game);
    if (failed) return failed.text;
    if (!yours()) return word("their turn", { name: whoAs(game, game.turn) });
    if (game.stage !== "play") return word(`your ${game.question}`);
    return game.to_beat ? word("your turn", { move: game.to_beat }) : word("your lead");
  }

  const choose = (text) => (/^[a-z]/.test(text) ? move(text) : hand.choose(text));

  function show() {
    if (!alive) return;
    hand = new Hand(game.table.seats[game.seat].hand, enable, hand);
    const below = make("div", { class: "below" }, make("p", { class: "status" }, status()), hand.element, make("div", { class: "controls", "data-focus": "controls" }, controls()));
    const goal = game.puzzle && make("p", { class: "panel" }, word("puzzle first"));
    const names = game.names.map((_, seat) => whoAs(game, seat));
    const side = [goal, thoughts && thoughtsElement(thoughts, yours() ? choose : null), thoughts && beliefsElement(thoughts, names), logElement(game), keysElement()];
    announce(status());
    enable();
    redraw(root, make("div", { class: "desk" }, tableElement(game, below), make("aside", { class: "side" }, side.filter(Boolean))));
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

  const seen = () => { if (!document.hidden) act(async () => { const now = await get(`games/${id}`); if (now.number !== game.number) await fresh(); await others(); }); };
  document.addEventListener("keydown", key);
  document.addEventListener("visibilitychange", seen);
  show();
  act(others);
  return () => {
    alive = false;
    document.removeEventListener("keydown", key);
    document.removeEventListener("visibilitychange", seen);
  };
}

const keysElement = () => make("details", { class: "panel" }, make("summary", {}, word("keys")), make("p", {}, word("keys game")));

/** How a game ended, for who looks. */
export function ending(game) {
  if (game.winner == null) return word("nobody bid");
  const side = word(game.winner === game.table.landlord ? "landlord wins" : "peasants win");
  const own = game.seat == null ? "" : `${word(game.result > 0 ? "won" : "lost")} `;
  const points = game.seat == null ? "" : ` ${word(Math.abs(game.result) === 1 ? "point" : "points", { n: Math.abs(game.result) })}`;
  return `${own}${side}${game.table.spring ? ` ${word("spring")}` : ""}${points}`;
}

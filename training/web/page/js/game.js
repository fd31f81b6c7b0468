// A game with the person at the table: its moves, hints, undo, and what can be looked into.

import { get, post } from "./api.js";
import { make, notify } from "./dom.js";
import { Hand } from "./hand.js";
import { logElement, said, tableElement } from "./table.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const PAUSE = 350; // ms between the moves of agents, so that they can be followed

/** The page of a game; it returns what ends it when the person goes elsewhere. */
export async function gamePage(main, id) {
  let alive = true;
  let busy = false;
  let game = await get(`games/${id}`);
  localStorage.setItem("game", id);
  let thoughts = null;
  let hand = null;
  const buttons = {};

  const yours = () => !game.over && game.turn === game.seat;

  async function act(work) {
    if (busy) return;
    busy = true;
    enable();
    try {
      await work();
    } catch (error) {
      if (error.data?.readings) return readings(error.data.readings);
      notify(error.message);
      if (error.status === 409) { game = await get(`games/${id}`); show(); } // another page has moved
    } finally {
      busy = false;
      if (alive) enable();
    }
  }

  async function send(path, body) {
    game = await post(`games/${id}/${path}`, body);
    thoughts = null;
    show();
  }

  async function others() {
    while (alive && !game.over && game.turn !== game.seat) {
      const before = performance.now();
      await send("advance", { moves: game.number });
      const wait = PAUSE - (performance.now() - before);
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    }
  }

  const move = (text) => act(async () => { await send("move", { text, moves: game.number }); await others(); });
  const undo = () => act(async () => { await send("undo", { moves: game.number }); await others(); });
  const hint = () => act(async () => { thoughts = await post(`games/${id}/hint`); show(); });

  function save() {
    act(async () => {
      const { text, name } = await get(`games/${id}/record`);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      make("a", { href: url, download: name }).click();
      URL.revokeObjectURL(url);
    });
  }

  function readings(texts) {
    const dialog = make("dialog", { class: "panel" }, make("p", {}, word("choose reading")));
    for (const text of texts) dialog.append(make("button", { type: "button", click: () => { dialog.close(); dialog.remove(); move(text); } }, text), " ");
    main.append(dialog);
    dialog.showModal();
  }

  function enable() {
    main.setAttribute("aria-busy", String(busy));
    for (const button of Object.values(buttons)) button.disabled = busy;
    if (buttons.play) buttons.play.disabled = busy || !hand.text;
    if (buttons.pass) buttons.pass.disabled = busy || !game.may_pass;
    if (buttons.undo) buttons.undo.disabled = busy || !game.may_undo;
  }

  function button(name, press, kind = "") {
    return (buttons[name] = make("button", { type: "button", id: name, class: kind, click: press }, word(name)));
  }

  function controls() {
    for (const name of Object.keys(buttons)) delete buttons[name];
    if (game.over) return [make("a", { href: "#/", class: "plate" }, word("again")), button("undo", undo), button("save", save), make("a", { href: `#/replay/${id}`, class: "plate" }, word("look"))];
    const own = !yours() ? [] : game.stage === "play"
      ? [button("play", () => move(hand.text), "first"), button("pass", () => move("pass"))]
      : game.words.map((text) => make("button", { type: "button", class: "first", click: () => move(text) }, said(text)));
    return [...own, yours() && button("hint", hint), button("undo", undo), button("save", save)];
  }

  function status() {
    if (game.over) return ending(game);
    if (!yours()) return word("their turn", { name: game.names[game.turn] });
    if (game.stage !== "play") return word(`your ${game.stage}`);
    return game.to_beat ? word("your turn", { move: game.to_beat }) : word("your lead");
  }

  function show() {
    if (!alive) return;
    hand = new Hand(game.table.seats[game.seat].hand, enable);
    const below = make("div", {}, make("p", { class: "status", role: "status" }, status()), hand.element, make("div", { class: "controls" }, controls()));
    const goal = game.puzzle && make("p", { class: "panel" }, word("puzzle first"));
    const side = [goal, thoughts && thoughtsElement(thoughts, (text) => (/^[a-z]/.test(text) ? move(text) : hand.choose(text))), thoughts && beliefsElement(thoughts, game.names), logElement(game)];
    main.replaceChildren(make("div", { class: "desk" }, tableElement(game, below), make("aside", { class: "side" }, side.filter(Boolean))));
    enable();
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const name = { Enter: "play", p: "pass", h: "hint", u: "undo" }[event.key];
    if (!name || !buttons[name] || buttons[name].disabled) return;
    if (event.key === "Enter" && event.target.tagName === "BUTTON" && !event.target.classList.contains("card")) return;
    event.preventDefault();
    buttons[name].click();
  }

  document.addEventListener("keydown", key);
  show();
  act(others);
  return () => { alive = false; main.removeAttribute("aria-busy"); document.removeEventListener("keydown", key); };
}

/** How a game ended, for who looks. */
export function ending(game) {
  if (game.winner == null) return word("nobody bid");
  const side = word(game.winner === game.table.landlord ? "landlord wins" : "peasants win");
  const own = game.seat == null ? "" : `${word(game.result > 0 ? "won" : "lost")} ${word("points", { n: Math.abs(game.result) })}. `;
  return `${own}${side}${game.table.spring ? ` ${word("spring")}` : ""}`;
}

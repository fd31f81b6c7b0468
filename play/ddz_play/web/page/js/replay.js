// Stepping through a game that is over, was loaded, or is played by agents alone.

import { adviserSelect, loadChoices, shortName } from "./agents.js";
import { download, get, post } from "./api.js";
import { moveText } from "./cards.js";
import { keysElement } from "./controls.js";
import { announce, headingElement, clearMessage, make, messagesElement, showError, redraw } from "./dom.js";
import { saveReview, markAsPractice } from "./recent.js";
import { endingText } from "./result.js";
import { logElement, tableElement, playerName, playerNameWithRole } from "./table.js";
import { curveElement, summarizeDecisions, decisionsElement, numbersElement, thoughtsElement } from "./thoughts.js";
import { setTitle, word } from "./words.js";

const PACE = 900; // ms between moves that play by themselves
const LEAST_LOSS = 0.005; // a smaller one is shown as 0 %
const KEYS = { ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", " ": "run", l: "look", b: "play on" };

/** The same from an agent's thoughts, under rules for which there is no better estimate. */
function landlordChance({ table }, { seat, moves, played, source }) {
  const chance = table.landlord === null ? null : moves[0]?.chance ?? null;
  const other = moves.find(({ text }) => text === played)?.chance;
  const lost = chance - other < LEAST_LOSS ? 0 : chance - other;
  const loss = chance === null || other == null || moves.length === 1 ? null : lost;
  return { seat, landlord: chance === null || seat === table.landlord ? chance : 1 - chance, loss, better: loss > 0 ? moves[0].text : null, source };
}

export async function replayPage(root, id, at) {
  let game = await get(`games/${id}/moves/${at ?? 0}`, "dealing");
  const dealt = game.total - game.story.length; // moves before these cards: auctions that everybody declined
  if (!at && dealt) game = await get(`games/${id}/moves/${dealt}`, "dealing");
  const choices = await loadChoices();
  let agent = choices.adviser;
  let thoughts = null;
  let chances = null; // by number of moves, as far as they have been fetched
  let asking = null; // the run of questions that is under way
  let done = 0; // share of the decisions that have been asked about
  const own = game.seat;
  let running = null;
  let alive = true;
  let busy = false;

  async function runAlone(work) {
    if (busy || !alive) return;
    busy = true;
    clearMessage();
    root.setAttribute("aria-busy", "true");
    try {
      await work();
    } catch (error) {
      stop();
      show();
      showError(error.message);
    } finally {
      busy = false;
      root.setAttribute("aria-busy", "false");
    }
  }

  const go = (number) => runAlone(async () => {
    if (number > game.total && game.running) {
      try {
        await post(`games/${id}/advance`, { moves: game.total });
      } catch (error) {
        if (error.status !== 409) throw error; // another page has let it move
      }
    }
    game = await get(`games/${id}/moves/${Math.max(0, game.running ? number : Math.min(number, game.total))}`);
    thoughts = null;
    if (game.over) stop();
    show();
  });

  const look = () => runAlone(async () => {
    thoughts = await post(`games/${id}/moves/${game.number}/thoughts`, { agent }, "searching");
    show();
  });

  const save = () => runAlone(() => download(id));

  /** Ask about one decision after the other, mine or all where I have none, and draw what is known so far. */
  async function estimateChances() {
    if (asking) { asking = null; return show(); }
    const mine = (asking = {});
    const known = (chances = []); // another adviser begins another list
    const first = game.total - game.story.length;
    const numbers = game.story.map((_, place) => first + place).filter((number) => own == null || game.story[number - first].seat === own);
    for (const [place, number] of [...numbers, game.total].entries()) {
      done = place / (numbers.length + 1);
      show();
      try {
        const found = await get(`games/${id}/moves/${number}/chance`, null);
        known[number] = found.landlord == null && number < game.total ? await chanceByAdviser(number) : found;
      } catch (error) {
        if (!alive || asking !== mine) return;
        asking = null;
        show();
        return showError(error.message);
      }
      if (!alive || asking !== mine) return;
    }
    if (own != null && !game.running && known[game.total]) saveReview(id, ...summarizeDecisions(known, game, own));
    asking = null;
    show();
  }

  const chanceByAdviser = async (number) => landlordChance(await get(`games/${id}/moves/${number}`, null), await post(`games/${id}/moves/${number}/thoughts`, { agent }, null));

  const tryAgain = (number) => runAlone(async () => {
    const found = await post(`games/${id}/moves/${number}/branch`);
    markAsPractice(found.id);
    location.hash = `#/game/${found.id}`;
  });

  function stop() {
    clearInterval(running);
    running = null;
  }

  function run() {
    if (running) stop();
    else running = setInterval(() => go(game.number + 1), PACE);
    show();
  }

  function show() {
    if (!alive) return;
    const { number, total } = game;
    const more = number < total || game.running;
    const key = (name) => Object.keys(KEYS).find((one) => KEYS[one] === name);
    const button = (name, press, disabled, text = word(name)) => make("button", { type: "button", id: name.replace(" ", "-"), click: press, disabled, "aria-keyshortcuts": key(name) === " " ? "Space" : key(name) }, text);
    const steps = make("div", { class: "controls", "data-focus": "controls" },
      button("first", () => go(0), number === 0), button("back", () => go(number - 1), number === 0), button("step", () => go(number + 1), !more),
      button("last", () => go(total), number >= total), button("run", run, !more, word(running ? "halt" : "run")));
    const adviser = adviserSelect("adviser", choices, agent, { "aria-label": word("adviser"), change: (event) => { agent = event.target.value; asking = chances = thoughts = null; show(); } });
    const questions = make("div", { class: "controls", "data-focus": "questions" },
      button("look", look, game.over), button("curve", estimateChances, total === 0, word(asking ? "halt" : own == null ? "curve" : "my game")), adviser, button("play on", () => tryAgain(game.number), game.over));
    const turn = game.over ? endingText(game) : `${number} / ${total} · ${word("to move", { name: playerNameWithRole(game, game.turn) })}`;
    const below = make("div", { class: "below" }, messagesElement(make("p", { class: "status" }, turn)), steps, questions);
    const names = game.names.map((_, seat) => playerNameWithRole(game, seat));
    history.replaceState(null, "", `#/replay/${id}/${number}`); // a reload and a link come back here
    const known = (chances ?? []).some((found) => found?.landlord != null);
    const bar = asking && make("progress", { value: done, max: 1, "aria-label": word("curve") });
    const losses = Object.fromEntries((chances ?? []).flatMap((found, place) => (found?.loss > 0 ? [[place, found.loss]] : [])));
    const side = [bar, known && curveElement(chances, game, own, go), known && decisionsElement(chances, game, own, asking, go, tryAgain), thoughts && thoughtsElement(thoughts, null, thoughts.agent === choices.adviser ? word("thoughts") : word("thoughts of", { name: shortName(thoughts.agent) })), thoughts && numbersElement(thoughts, names), logElement(game, go, losses, button("save", save)), keysElement("keys replay")];
    announce(game.moves.length ? `${playerName(game, game.moves.at(-1).seat)}: ${moveText(game.moves.at(-1).text)}. ${turn}` : turn);
    setTitle(turn);
    redraw(root, headingElement(word(own == null ? "step through" : "review")), make("div", { class: "desk" }, make("div", {}, tableElement(game), below), make("aside", { class: "side" }, side.filter(Boolean))));
  }

  function pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, .log")) return;
    if (event.key === " " && event.target.closest?.("button, summary, a")) return;
    const button = KEYS[event.key] && root.querySelector(`#${KEYS[event.key].replace(" ", "-")}`);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  }

  document.addEventListener("keydown", pressKey);
  show();
  if (own != null && !at && game.table.seats.length > 2) estimateChances();
  return () => {
    alive = false;
    stop();
    document.removeEventListener("keydown", pressKey);
  };
}

// The form of a new game.

import { agentSelect, loadChoices } from "./agents.js";
import { post, showPreparation } from "./api.js";
import { selectElement, field, clearMessage, make, messagesElement, runOnce } from "./dom.js";
import { LEAST, ratingOf } from "./rating.js";
import { recentGames, pastResults, pastReviews } from "./recent.js";
import { shortEndingText } from "./result.js";
import { setSetting, getSetting } from "./settings.js";
import { signedText, word } from "./words.js";

const REVIEWED = 10; // reviews in a line
const ORDINARY = ["bidding", "bidding,doubling=true", "robbing", "standard", "standard,unshuffled=true"]; // the first by default

/** A game of this browser in a line: what, since when, how it ended. */
function gameItem({ id, rules, puzzle, since, end }) {
  const when = new Date(since).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  const what = puzzle ? word("puzzle number", { n: puzzle }) : word(`rules ${rules}`);
  const link = make("a", { href: `#/game/${id}${puzzle ? `/${puzzle}` : ""}` }, `${what}, ${when}`);
  return make("li", { class: end ? (end.result > 0 ? "won" : "lost") : "" }, link, " ", make("span", {}, end ? shortEndingText(end) : word("running")));
}

/** How the person has played: a rating against the levels, and how many of the decisions were best, review by review. */
function recordElements({ levels }) {
  const eloOf = (name) => levels.find((level) => level.name === name)?.elo;
  const games = pastResults().map(({ result, rivals = [] }) => ({ won: Number(result > 0), elos: rivals.map(eloOf) })).filter(({ elos }) => elos.length > 1 && elos.every(Number.isFinite));
  const found = ratingOf(games.map(({ won, elos }) => ({ won, elo: elos.reduce((sum, elo) => sum + elo) / elos.length })));
  const scale = levels.map(({ name, elo }) => `${word(`level ${name}`)} ${signedText(elo) || 0}`).join(", ");
  const rating = found ? word("my rating", { value: signedText(found.value) || 0, error: found.error, games: games.length, levels: scale }) : word("rating to come", { n: LEAST - games.length });
  const shares = pastReviews().filter(({ all }) => all).slice(-REVIEWED).map(({ best, all }) => Math.round((100 * best) / all));
  return [games.length > 0 && make("p", { id: "rating" }, rating), shares.length > 0 && make("p", { id: "reviews" }, word("best so far", { list: shares.join(" · ") }))].map((line) => line || "");
}

/** Deal a new game: rules, seat, an agent for each other seat, seed. */
export async function startPage(root) {
  const choices = await loadChoices();
  const last = getSetting("choices") ?? { agents: [] };
  const named = choices.rules.map(({ name }) => [name, word(`rules ${name}`)]);
  const ordinary = ORDINARY.flatMap((name) => named.filter(([other]) => other === name));
  const rules = selectElement("rules", ordinary, last.rules ?? ORDINARY[0], { change: updateSeats }, { label: word("for researchers"), values: named.filter(([name]) => !ORDINARY.includes(name)) });
  const seat = selectElement("seat", []);
  const others = make("div", { class: "others" });
  const seed = make("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]{1,20}", autocomplete: "off" });
  seat.addEventListener("change", updateAgents);

  const played = () => choices.rules.find(({ name }) => name === rules.value);
  const nameOf = (place) => { const { roles } = played(); return roles.length ? word(roles[place]) : word("your seats", { n: place + 1 }); };

  const offered = (name) => [...choices.levels.map((level) => level.name), ...choices.agents].find((one) => one === name);

  function updateSeats() {
    const places = Array.from({ length: played().players }, (_, place) => [String(place), nameOf(place)]);
    seat.replaceChildren(...selectElement("", [...places, ["", word("watch")]]).children);
    seat.value = places.some(([place]) => place === last.seat) || last.seat === "" ? last.seat : "0";
    updateAgents();
  }

  function updateAgents() {
    const places = Array.from({ length: played().players }, (_, place) => place).filter((place) => String(place) !== seat.value);
    const before = Object.fromEntries([...others.querySelectorAll("select")].map(({ id, value }) => [id, value]));
    others.replaceChildren(...places.map((place) => field(nameOf(place), agentSelect(`agent-${place}`, choices.agents, before[`agent-${place}`] ?? offered(last.agents[place]) ?? choices.agent))));
  }

  const startGame = () => runOnce(root, async () => {
    const own = seat.value === "" ? null : Number(seat.value);
    const players = Array.from({ length: played().players }, (_, place) => others.querySelector(`#agent-${place}`)?.value ?? choices.agent);
    setSetting("choices", { rules: rules.value, seat: seat.value, agents: players });
    const { id } = await post("games", { rules: rules.value, seat: own, agents: players, seed: seed.value || null }, "dealing");
    location.hash = own === null ? `#/replay/${id}` : `#/game/${id}`;
  });

  const prepared = make("p", { class: "source" });
  updateSeats();
  const games = recentGames().map(gameItem);
  root.replaceChildren(make("form", { class: "panel", submit: (event) => { event.preventDefault(); startGame(); }, input: clearMessage },
    make("h1", {}, word("new game")), field(word("rules"), rules), field(word("seat"), seat), make("fieldset", {}, make("legend", {}, word("opponents")), others), field(word("seed"), seed),
    messagesElement(prepared), make("button", { class: "first", id: "deal" }, word("deal"))),
    games.length > 0 ? make("section", { class: "panel narrow" }, make("h2", {}, word("resume")), make("ul", { class: "recent" }, games), recordElements(choices)) : "");
  showPreparation(prepared);
}

// What this browser keeps: the games that it has begun, whose names are the only keys to them.

const MOST = 8;
const ALL = 1000;
const POSITIONS = 30;

function load(name, empty) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? empty;
  } catch {
    return empty;
  }
}

const store = (name, value) => localStorage.setItem(name, JSON.stringify(value));

export function recentGames() {
  const found = load("games", []);
  return Array.isArray(found) ? found.filter((game) => typeof game?.id === "string") : [];
}

const gamesExcept = (id) => recentGames().filter((game) => game.id !== id);

export const forgetGame = (id) => store("games", gamesExcept(id));

/** How its games ended, for a score and a rating. */
export const pastResults = () => load("results", []);

/** A game that begins in the middle of another counts for no rating. */
export const markAsPractice = (id) => store("practice", [...load("practice", []), id].slice(-ALL));

/** What reviews of its games have found, the oldest first: of each how many of `all` decisions were `best`. */
export const pastReviews = () => load("reviews", []);

const today = () => new Date().toDateString();

/** Own mistakes of other days that have not been tried again. */
export const ownMistakes = () => load("positions", []).filter((one) => one.day !== today());

export const dropMistake = (gone) => store("positions", load("positions", []).filter(({ id, number }) => id !== gone.id || number !== gone.number));

/** Keep what a review has found; its mistakes are positions from the next day on, once. */
export function saveReview(id, best, all, mistakes) {
  const before = pastReviews();
  if (!before.some((one) => one.id === id)) store("positions", [...load("positions", []), ...mistakes.map((one) => ({ ...one, id, day: today() }))].slice(-POSITIONS));
  store("reviews", [...before.filter((one) => one.id !== id), { id, best, all }].slice(-ALL));
}

/** Put a game in front of all others, with what is known of its end. */
export function saveGame({ id, rules, scoring, over, winner, result, table, seat, names, puzzle: endgame }, puzzle) {
  const rivals = load("practice", []).includes(id) ? [] : names.filter((_, place) => place !== seat);
  const counts = over && !endgame && winner != null ? [{ id, scoring, result, rivals }] : []; // taken back, it counts no more
  store("results", [...pastResults().filter((game) => game.id !== id), ...counts].slice(-ALL));
  const since = recentGames().find((game) => game.id === id)?.since ?? Date.now();
  const end = over && { result: winner == null ? null : result, role: table.seats[seat].role };
  store("games", [{ id, rules, puzzle, since, end }, ...gamesExcept(id)].slice(0, MOST));
}

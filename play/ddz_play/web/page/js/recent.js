// What this browser keeps: the games that it has begun, whose names are the only keys to them.

const MOST = 8;
const ALL = 1000;
const POSITIONS = 30;

function kept(name, empty) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? empty;
  } catch {
    return empty;
  }
}

const keep = (name, value) => localStorage.setItem(name, JSON.stringify(value));

export function recent() {
  const found = kept("games", []);
  return Array.isArray(found) ? found.filter((game) => typeof game?.id === "string") : [];
}

const others = (id) => recent().filter((game) => game.id !== id);

export const forget = (id) => keep("games", others(id));

/** How its games ended, for a score and a rating. */
export const results = () => kept("results", []);

/** A game that begins in the middle of another counts for no rating. */
export const practise = (id) => keep("practice", [...kept("practice", []), id].slice(-ALL));

/** What reviews of its games have found, the oldest first: of each how many of `all` decisions were `best`. */
export const reviews = () => kept("reviews", []);

const day = () => new Date().toDateString();

/** Own mistakes of other days that have not been tried again. */
export const positions = () => kept("positions", []).filter((one) => one.day !== day());

export const drop = (gone) => keep("positions", kept("positions", []).filter(({ id, number }) => id !== gone.id || number !== gone.number));

/** Keep what a review has found; its mistakes are positions from the next day on, once. */
export function noteReview(id, best, all, mistakes) {
  const before = reviews();
  if (!before.some((one) => one.id === id)) keep("positions", [...kept("positions", []), ...mistakes.map((one) => ({ ...one, id, day: day() }))].slice(-POSITIONS));
  keep("reviews", [...before.filter((one) => one.id !== id), { id, best, all }].slice(-ALL));
}

/** Put a game in front of all others, with what is known of its end. */
export function remember({ id, rules, scoring, over, winner, result, table, seat, names, puzzle: endgame }, puzzle) {
  const rivals = kept("practice", []).includes(id) ? [] : names.filter((_, place) => place !== seat);
  const counts = over && !endgame && winner != null ? [{ id, scoring, result, rivals }] : []; // taken back, it counts no more
  keep("results", [...results().filter((game) => game.id !== id), ...counts].slice(-ALL));
  const since = recent().find((game) => game.id === id)?.since ?? Date.now();
  const end = over && { result: winner == null ? null : result, role: table.seats[seat].role };
  keep("games", [{ id, rules, puzzle, since, end }, ...others(id)].slice(0, MOST));
}

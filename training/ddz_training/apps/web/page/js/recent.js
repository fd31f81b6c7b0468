// What this browser keeps: the games that it has begun, whose names are the only keys to them.

const MOST = 8;
const ALL = 1000;

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

/** How its games ended, for a score. */
export const results = () => kept("results", []);

/** Put a game in front of all others, with what is known of its end. */
export function remember({ id, rules, scoring, over, winner, result, table, seat, puzzle: endgame }, puzzle) {
  const counts = over && !endgame && winner != null ? [{ id, scoring, result }] : []; // taken back, it counts no more
  keep("results", [...results().filter((game) => game.id !== id), ...counts].slice(-ALL));
  const since = recent().find((game) => game.id === id)?.since ?? Date.now();
  const end = over && { result: winner == null ? null : result, role: table.seats[seat].role };
  keep("games", [{ id, rules, puzzle, since, end }, ...others(id)].slice(0, MOST));
}

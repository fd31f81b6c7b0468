// A rating for games against the named levels, on the scale of the levels: Elo's, by maximum likelihood.

const SCALE = 400 / Math.LN10;
const STEPS = 60; // of Newton's method, none longer than FAR
const FAR = 200;
const SURE = 1.96; // standard errors of a 95 % interval

export const LEAST = 20; // games before which luck says more

/**
 * The rating and half its 95 % interval; null before there are enough games.  One game that is half won against `hard`
 * (0) counts besides, so that who has won them all has a rating, too.
 *
 * @param games of each whether it was `won`, 0 or 1, and the mean `elo` of the opponents.
 */
export function ratingOf(games) {
  if (games.length < LEAST) return null;
  let value = 0;
  let information = 0;
  for (let step = 0; step < STEPS; step++) {
    let slope = 0;
    information = 0;
    for (const { won, elo } of [...games, { won: 0.5, elo: 0 }]) {
      const chance = 1 / (1 + Math.exp((elo - value) / SCALE));
      slope += won - chance;
      information += chance * (1 - chance);
    }
    value += Math.max(-FAR, Math.min(FAR, (SCALE * slope) / information));
  }
  return { value: Math.round(value), error: Math.round((SURE * SCALE) / Math.sqrt(information)) };
}

// What this browser remembers of the table: sounds, the strip of cards that are still out, the last choices of the form.

const load = (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } };

export const getSetting = (name) => load(`set ${name}`);
export const setSetting = (name, value) => localStorage.setItem(`set ${name}`, JSON.stringify(value));

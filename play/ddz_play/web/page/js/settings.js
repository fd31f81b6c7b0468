// What this browser remembers of the table: sounds, the strip of cards that are still out, the last choices of the form.

const kept = (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch { return null; } };

export const setting = (name) => kept(`set ${name}`);
export const set = (name, value) => localStorage.setItem(`set ${name}`, JSON.stringify(value));

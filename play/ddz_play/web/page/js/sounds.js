// Sounds that the browser makes itself; off until somebody wants them.

import { getSetting } from "./settings.js";

const TONES = { card: [[320, 0.06]], pass: [[190, 0.09]], bomb: [[90, 0.25], [60, 0.35]], turn: [[520, 0.07]], alarm: [[880, 0.1], [880, 0.1]], won: [[523, 0.12], [659, 0.12], [784, 0.25]], lost: [[392, 0.15], [311, 0.3]] };
let audio = null;

/** Play some tones, one after the other, if sounds are on. */
export function playSound(name) {
  if (!getSetting("sound")) return;
  audio ??= new AudioContext();
  let at = audio.currentTime;
  for (const [pitch, length] of TONES[name]) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.type = name === "bomb" ? "sawtooth" : "triangle";
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.15, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + length);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + length);
    at += length;
  }
}

/** What is to be heard of a game after a move. */
export function playMoveSound(game) {
  const last = game.moves.at(-1);
  if (game.over) return playSound(game.result > 0 ? "won" : "lost");
  if (!last) return;
  const seat = game.table.seats[last.seat];
  if (last.seat !== game.seat && !game.puzzle && seat.size > 0 && seat.size < 3 && last.text !== "pass") playSound("alarm");
  else playSound(["bomb", "rocket"].includes(seat.play?.category) && last.text !== "pass" ? "bomb" : last.text === "pass" ? "pass" : "card");
}

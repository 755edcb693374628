import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { PillarMinion } from './ports.ts';

/** Letters of a message to search for in one piece: 24 equal bytes are no accident. */
const PIECE_LETTERS = 32;

/** Pieces of one message to search for, which bounds the work. */
const PIECES_MAX = 16;

const MARKERS = /-----[A-Z ]+-----/g;
const NO_LETTER = /[^A-Za-z0-9+/]+/g;

/**
 * Recognizes the PGP messages that a minion sent, anywhere in its pillar: from an override, from
 * grains in a template, from an external pillar that repeats them. A minion with the ciphertext of
 * another minion's secret must not get it decrypted. Line ends and quoting do not count.
 */
export class MinionMessages {
  readonly #values: SaltValue[];
  readonly #onWithheld: () => void;
  #letters: string | undefined;

  /** `onWithheld` is called once, with the first message that stays encrypted. */
  constructor(minion: PillarMinion, onWithheld: () => void) {
    const { id, grains, saltenv, pillarenv, override, ext } = minion;
    this.#values = [id, grains, saltenv, pillarenv, override, ext];
    let isCalled = false;
    this.#onWithheld = () => {
      if (!isCalled) onWithheld();
      isCalled = true;
    };
  }

  /** Adds more that the minion chose: the answer of an external pillar that it named. */
  add(value: SaltValue): void {
    this.#values.push(value);
    this.#letters = undefined;
  }

  /** Whether a message may be opened. */
  readonly mayOpen = (message: string): boolean => {
    const letters = lettersOf(message);
    if (letters === '') return true;
    this.#letters ??= textsOf(this.#values).map(lettersOf).join('');
    const sent = this.#letters;
    // From the second half: messages for one key begin alike.
    const count = Math.floor(letters.length / PIECE_LETTERS);
    const first = Math.floor(count / 2);
    const step = Math.max(1, Math.floor((count - first) / PIECES_MAX));
    for (let piece = first; piece < Math.max(count, 1); piece += step) {
      const at = piece * PIECE_LETTERS;
      if (!sent.includes(letters.slice(at, at + PIECE_LETTERS))) continue;
      this.#onWithheld();
      return false;
    }
    return true;
  };
}

/** The base64 of a text, without the markers of messages. */
function lettersOf(text: string): string {
  return text.replaceAll('\\n', '\n').replaceAll(MARKERS, '').replaceAll(NO_LETTER, '');
}

function textsOf(value: SaltValue): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isMap(value) ? textsOfMap(value) : [];
}

function textsOfMap(map: SaltMap): string[] {
  return [...map].flatMap(([key, value]) => [...textsOf(key), ...textsOf(value)]);
}

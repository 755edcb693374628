import { checkMinions, matchPcre, pillarTerms, Work, WorkError } from '@brine/target';
import { mapIn, type SaltMap, type SaltValue } from '@brine/wire';
import { parseMineEntry } from '@brine/wire/load';
import { targetView } from '../clear/expected-minions.ts';
import type { MasterPorts } from '../ports/ports.ts';

/*
 * The mine (salt/daemons/masterapi.py RemoteFuncs `_mine*`, salt/utils/mine.py); protocol.md 5.
 */

/** Limit of functions in one request: each is searched in the mine of every minion. */
const FUNCTIONS_MAX = 200;

/** Limit of concurrent reads of mines. */
const FETCHES_MAX = 64;

type MineCommand = (ports: MasterPorts, minion: string, load: SaltMap) => Promise<SaltValue>;

/** True if mines are stored at all (`minion_data_cache`, `enforce_mine_cache`). */
function isKept({ rules }: MasterPorts): boolean {
  return rules.minionDataCache || rules.enforceMineCache === true;
}

/** `_mine`: adds to the minion's mine, or replaces it with `clear`. */
export const putIntoMine: MineCommand = async (ports, minion, load) => {
  const data = mapIn(load, 'data');
  if (data === undefined) return new Map();
  if (!isKept(ports)) return true;
  const clear = load.get('clear') === true;
  const kept = await ports.mines.change(minion, (now) =>
    clear || now === undefined ? data : new Map([...now, ...data]),
  );
  ports.count(kept ? 'mine_updates' : 'mine_too_large');
  return kept;
};

/** `_mine_delete`: removes the value of one function. */
export const deleteFromMine: MineCommand = async (ports, minion, load) => {
  const fun = load.get('fun');
  if (fun === undefined) return new Map();
  if (!isKept(ports)) return true;
  const mine = await ports.mines.fetch(minion);
  if (mine?.has(fun) !== true) return true;
  await ports.mines.change(minion, (now) => {
    const rest = new Map(now);
    rest.delete(fun);
    return rest;
  });
  return true;
};

/** `_mine_flush`: removes the whole mine; false if it was empty. */
export const flushMine: MineCommand = async (ports, minion) => {
  if (!isKept(ports)) return true;
  if ((await ports.mines.fetch(minion)) === undefined) return false;
  return ports.mines.change(minion, () => undefined);
};

/**
 * `_mine_get`: values of the minions of a target, as far as the master's `mine_get` and each
 * value's `allow_tgt` permit the asking minion.
 */
export const getFromMine: MineCommand = async (ports, minion, load) => {
  const asked = load.get('fun');
  const tgt = load.get('tgt');
  if (tgt === undefined) return new Map();
  const functions = functionsOf(asked);
  const allowed = functions.filter((fun) => mayAsk(ports, minion, fun));
  if (allowed.length === 0) return new Map();
  const byFunction = typeof asked !== 'string' || functions.length > 1;
  const minions = await knownMinions(ports, tgt, targetType(load));
  const found = await readMines(ports, minions, allowed);
  const reply: SaltMap = new Map();
  const guests = new Guests(ports);
  for (const { id, fun, stored } of found) {
    const { value, allowTgt, allowTgtType = 'glob' } = parseMineEntry(stored);
    if (
      allowTgt !== undefined &&
      !(await guests.has(minion, { id, tgt: allowTgt, tgtType: allowTgtType }))
    ) {
      ports.count('mine_denied');
      continue;
    }
    if (!byFunction) reply.set(id, value);
    else reply.set(fun, new Map(mapIn(reply, fun)).set(id, value));
  }
  return reply;
};

/** A text with commas names several functions, each used once; a list is answered by function. */
function functionsOf(asked: SaltValue | undefined): readonly string[] {
  const named = typeof asked === 'string' ? asked.split(',', FUNCTIONS_MAX) : asked;
  if (!Array.isArray(named)) return [];
  return [...new Set(named.slice(0, FUNCTIONS_MAX).filter((fun) => typeof fun === 'string'))];
}

/** The master's `mine_get`: expressions of functions by expressions of minions. */
function mayAsk({ rules }: MasterPorts, minion: string, fun: string): boolean {
  const { mineGet } = rules;
  if (mineGet === undefined) return true;
  return Object.entries(mineGet).some(
    ([ids, funs]) => matchPcre(ids, minion) && funs.some((pattern) => matchPcre(pattern, fun)),
  );
}

/** Old minions send `expr_form`. Pillar is matched exactly: globs would let a minion guess it. */
function targetType(load: SaltMap): string {
  const given = load.has('tgt_type') ? load.get('tgt_type') : load.get('expr_form');
  const type = typeof given === 'string' ? given : 'glob';
  switch (type.toLowerCase()) {
    case 'pillar':
      return 'pillar_exact';
    case 'compound':
      return 'compound_pillar_exact';
    default:
      return type;
  }
}

/**
 * The accepted minions with known data that a target surely matches; none if the target could be
 * used to guess the contents of a pillar.
 */
export async function knownMinions(
  ports: MasterPorts,
  tgt: SaltValue,
  tgtType: string,
): Promise<readonly string[]> {
  if (pillarTerms({ tgt, tgtType }, ports.rules.nodegroups).inexact.length > 0) {
    ports.count('target_guesses_pillars');
    return [];
  }
  const view = await targetView(ports, tgtType, tgt);
  return checkMinions({ tgt, tgtType }, { ...view, greedy: false }).minions;
}

interface Stored {
  readonly id: string;
  readonly fun: string;
  readonly stored: SaltValue;
}

async function readMines(
  ports: MasterPorts,
  minions: readonly string[],
  functions: readonly string[],
): Promise<Stored[]> {
  const found: Stored[] = [];
  for (let at = 0; at < minions.length; at += FETCHES_MAX) {
    const ids = minions.slice(at, at + FETCHES_MAX);
    const mines = await Promise.all(ids.map((id) => ports.mines.fetch(id)));
    for (const [index, id] of ids.entries()) {
      for (const fun of functions) {
        const stored = mines[index]?.get(fun);
        if (stored !== undefined) found.push({ id, fun, stored });
      }
    }
  }
  return found;
}

/** A target of minions that may read a value of another minion's mine. */
interface Allowed {
  readonly id: string;
  readonly tgt: string | string[];
  readonly tgtType: string;
}

/** Checks whether `allow_tgt` includes a minion; once per target, as most minions share theirs. */
class Guests {
  readonly #ports: MasterPorts;
  readonly #known = new Map<string, boolean>();
  /** The remaining work for each owner's targets, so that no owner can delay the asking minion. */
  readonly #works = new Map<string, Work>();

  constructor(ports: MasterPorts) {
    this.#ports = ports;
  }

  /** False if an owner's targets take too much work, which hides only its own values. */
  async has(minion: string, allowed: Allowed): Promise<boolean> {
    try {
      return await this.#asked(minion, allowed);
    } catch (error) {
      if (error instanceof WorkError) return false;
      throw error;
    }
  }

  async #asked(minion: string, { id, tgt, tgtType }: Allowed): Promise<boolean> {
    const work = this.#works.get(id) ?? Work.ofMine();
    this.#works.set(id, work);
    const key = JSON.stringify([tgtType, tgt]);
    const known = this.#known.get(key);
    work.spend(key.length);
    if (known !== undefined) return known;
    const view = await targetView(this.#ports, tgtType, tgt);
    // Only this minion of the whole fleet is checked.
    const accepted = new Set(view.accepted.has(minion) ? [minion] : []);
    const isGuest = checkMinions({ tgt, tgtType }, { ...view, accepted }, work).minions.includes(
      minion,
    );
    this.#known.set(key, isGuest);
    return isGuest;
  }
}

import { Dictionary, NONE } from './dictionary.ts';

/** States of a key as the fleet has them; `denied`: only a refused key is there. */
export const KEYS = ['accepted', 'pending', 'rejected', 'denied'] as const;
export type FleetKey = (typeof KEYS)[number];

/** By what a minion was seen last. */
export const SEEN_BY = ['return', 'event', 'grains'] as const;
export type SeenBy = (typeof SEEN_BY)[number];

/** How a minion stands to its states, by its last run and its last run with `test=True`. */
export const DRIFTS = ['unknown', 'failed', 'would', 'clean'] as const;
export type Drift = (typeof DRIFTS)[number];

/** Different texts of one grain. A fleet has some ten. */
const TEXTS_MAX = 10_000;
const START_ROWS = 1_024;

const [UNKNOWN, FAILED, WOULD, CLEAN] = [0, 1, 2, 3];

/** What each row has, by its number; arrays with room for more rows than there are. */
interface Columns {
  /** 0: no key; else a place in {@link KEYS}, plus 1. */
  key: Uint8Array;
  /** 1: another key of this id was refused. */
  denied: Uint8Array;
  /** 0: not known, 1: not present, 2: present. */
  presence: Uint8Array;
  /** Unix seconds; 0: not known. The same of all times here. */
  since: Float64Array;
  seenAt: Float64Array;
  /** A place in {@link SEEN_BY}. */
  seenBy: Uint8Array;
  hasGrains: Uint8Array;
  runJid: Uint32Array;
  runAt: Float64Array;
  /** 1: it failed. */
  runFailed: Uint8Array;
  testJid: Uint32Array;
  testAt: Float64Array;
  testFailed: Uint8Array;
  /** States that would change; -1: not known. */
  testWould: Int32Array;
  /** Differs for each minion that ever had this row. */
  serial: Uint32Array;
  /** 1: it is in the order of ids. */
  isPlaced: Uint8Array;
}

function columnsOf(rows: number): Columns {
  return {
    key: new Uint8Array(rows),
    denied: new Uint8Array(rows),
    presence: new Uint8Array(rows),
    since: new Float64Array(rows),
    seenAt: new Float64Array(rows),
    seenBy: new Uint8Array(rows),
    hasGrains: new Uint8Array(rows),
    runJid: new Uint32Array(rows),
    runAt: new Float64Array(rows),
    runFailed: new Uint8Array(rows),
    testJid: new Uint32Array(rows),
    testAt: new Float64Array(rows),
    testFailed: new Uint8Array(rows),
    testWould: new Int32Array(rows),
    serial: new Uint32Array(rows),
    isPlaced: new Uint8Array(rows),
  };
}

/** A grain: its name, the code of its text in each row, and the texts. */
export interface GrainColumn {
  readonly name: string;
  codes: Uint32Array;
  readonly texts: Dictionary;
}

/** The rows of a fleet as columns, and their order by id. */
export class Rows {
  columns = columnsOf(START_ROWS);
  readonly grains: readonly GrainColumn[];
  readonly jids = new Dictionary(Infinity);
  readonly ids: string[] = [];
  readonly #byId = new Map<string, number>();
  readonly #free: number[] = [];
  readonly #fresh = new Set<number>();
  #hasGone = false;
  #order: Uint32Array = new Uint32Array(0);
  #serial = 0;

  constructor(grains: readonly string[]) {
    this.grains = grains.map((name) => ({
      name,
      codes: new Uint32Array(START_ROWS),
      texts: new Dictionary(TEXTS_MAX),
    }));
  }

  /** How many there are. */
  get count(): number {
    return this.#byId.size;
  }

  /** Rows have numbers below this. */
  get end(): number {
    return this.ids.length;
  }

  find(id: string): number | undefined {
    return this.#byId.get(id);
  }

  /** The row of a minion, from now on at the latest. */
  at(id: string): number {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const row = this.#free.pop() ?? this.ids.length;
    if (row >= this.columns.key.length) this.#grow();
    this.ids[row] = id;
    this.#byId.set(id, row);
    this.#serial += 1;
    this.columns.serial[row] = this.#serial;
    this.columns.isPlaced[row] = 0;
    this.#fresh.add(row);
    return row;
  }

  /** Removes a row of which nothing is left. */
  dropIfEmpty(row: number): void {
    const { key, denied, hasGrains, presence, seenAt, seenBy, since } = this.columns;
    if (key[row] !== 0 || hasGrains[row] !== 0 || presence[row] !== 0) return;
    this.#byId.delete(this.ids[row] ?? '');
    this.ids[row] = '';
    since[row] = seenAt[row] = seenBy[row] = denied[row] = 0;
    this.setRun(row, '', 0, false);
    this.setTest(row, '', 0, { hasFailed: false, would: 0 });
    this.columns.serial[row] = 0;
    this.columns.isPlaced[row] = 0;
    this.#fresh.delete(row);
    this.#hasGone = true;
    this.#free.push(row);
  }

  setGrain(column: GrainColumn, row: number, text: string): void {
    const before = column.codes[row] ?? NONE;
    column.codes[row] = column.texts.take(text);
    column.texts.release(before);
  }

  setRun(row: number, jid: string, at: number, hasFailed: boolean): void {
    const { runJid, runAt, runFailed } = this.columns;
    const before = runJid[row] ?? NONE;
    runJid[row] = this.jids.take(jid);
    this.jids.release(before);
    runAt[row] = at;
    runFailed[row] = Number(hasFailed);
  }

  setTest(
    row: number,
    jid: string,
    at: number,
    { hasFailed, would }: { readonly hasFailed: boolean; readonly would: number },
  ): void {
    const { testJid, testAt, testFailed, testWould } = this.columns;
    const before = testJid[row] ?? NONE;
    testJid[row] = this.jids.take(jid);
    this.jids.release(before);
    testAt[row] = at;
    testFailed[row] = Number(hasFailed);
    testWould[row] = would;
  }

  /** A place in {@link DRIFTS}: the newer one of the two runs counts. */
  driftOf(row: number): number {
    const { runAt, runFailed, testAt, testFailed, testWould } = this.columns;
    const [ran, tested] = [runAt[row] ?? 0, testAt[row] ?? 0];
    const would = testWould[row] ?? 0;
    if (tested > ran) {
      if (testFailed[row] === 1) return FAILED;
      if (would >= 0) return would > 0 ? WOULD : CLEAN;
    }
    if (ran === 0) return UNKNOWN;
    return runFailed[row] === 1 ? FAILED : CLEAN;
  }

  /** All rows in the order of their ids. */
  order(): Uint32Array {
    if (this.#fresh.size === 0 && !this.#hasGone) return this.#order;
    const { ids } = this;
    const { isPlaced } = this.columns;
    const idOf = (row: number): string => ids[row] ?? '';
    const fresh = Uint32Array.from(this.#fresh).sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
    const order = new Uint32Array(this.count);
    let at = 0;
    let next = 0;
    for (const row of this.#order) {
      if (isPlaced[row] === 0) continue;
      while (next < fresh.length && idOf(fresh[next] ?? 0) < idOf(row)) {
        order[at++] = fresh[next++] ?? 0;
      }
      order[at++] = row;
    }
    while (next < fresh.length) order[at++] = fresh[next++] ?? 0;
    for (const row of fresh) isPlaced[row] = 1;
    this.#fresh.clear();
    this.#hasGone = false;
    return (this.#order = order);
  }

  #grow(): void {
    const rows = this.columns.key.length * 2;
    const next = columnsOf(rows);
    for (const name of Object.keys(next) as (keyof Columns)[]) next[name].set(this.columns[name]);
    this.columns = next;
    for (const grain of this.grains) {
      const codes = new Uint32Array(rows);
      codes.set(grain.codes);
      grain.codes = codes;
    }
  }
}

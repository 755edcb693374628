import { type Drift, DRIFTS, type FleetKey, KEYS, Rows, SEEN_BY, type SeenBy } from './rows.ts';

/** What a minion has of a state run. */
export interface StateRun {
  readonly jid: string;
  /** Unix seconds. */
  readonly at: number;
  readonly hasFailed: boolean;
}

/** What a minion has of a state run with `test=True`. */
export interface TestRun extends StateRun {
  /** States that would change; undefined: not known. */
  readonly would: number | undefined;
}

/** One minion. Times are unix seconds; undefined: not known. */
export interface FleetRow {
  readonly id: string;
  readonly key: FleetKey;
  /** Another key of this id was refused. */
  readonly hasDenied: boolean;
  /** Undefined for a minion whose key is not accepted: it gets no jobs. */
  readonly present: boolean | undefined;
  readonly since: number | undefined;
  readonly seen: { readonly at: number; readonly by: SeenBy } | undefined;
  /** In the order of the names that the index keeps; '' for none, or none that may be read. */
  readonly grains: readonly string[];
  readonly stateRun: StateRun | undefined;
  readonly testRun: TestRun | undefined;
  /** `unknown` also for a reader that may not see its runs. */
  readonly drift: Drift;
}

/** The parts of a row that may be read. */
export interface RowParts {
  readonly grains: boolean;
  readonly runs: boolean;
}

/** A key as the record of keys has it. */
export interface KeyFacts {
  /** Undefined: there is only a refused key. */
  readonly state: Exclude<FleetKey, 'denied'> | undefined;
  readonly hasDenied: boolean;
}

const ABSENT = 1;
const PRESENT = 2;

/**
 * The minions of a master in memory: some 200 bytes each. What is known of a minion comes from
 * several sources in any order; a minion is listed as long as it has a key.
 */
export class FleetIndex {
  readonly rows: Rows;
  /** The grains that are kept. */
  readonly grainNames: readonly string[];
  #version = 0;

  constructor(grainNames: readonly string[]) {
    this.grainNames = grainNames;
    this.rows = new Rows(grainNames);
  }

  /** Another number once a row may have changed. */
  get version(): number {
    return this.#version;
  }

  /** Texts that found no room in their column. */
  get refusedTexts(): number {
    return this.rows.grains.reduce((sum, { texts }) => sum + texts.refused, 0);
  }

  /** Sets the key of a minion; undefined: it has none. */
  setKey(id: string, key: KeyFacts | undefined): void {
    const isThere = key?.state !== undefined || key?.hasDenied === true;
    const row = this.#rowFor(id, isThere);
    if (row === undefined) return;
    const { columns } = this.rows;
    columns.key[row] = isThere ? KEYS.indexOf(key.state ?? 'denied') + 1 : 0;
    columns.denied[row] = Number(key?.hasDenied === true);
    this.#version += 1;
    this.rows.dropIfEmpty(row);
  }

  /** Sets the grains that are kept, '' for none, and when they came; undefined: it has none. */
  setGrains(id: string, texts: readonly string[] | undefined, at = 0): void {
    const row = this.#rowFor(id, texts !== undefined);
    if (row === undefined) return;
    this.rows.columns.hasGrains[row] = Number(texts !== undefined);
    this.rows.grains.forEach((column, place) =>
      this.rows.setGrain(column, row, texts?.[place] ?? ''),
    );
    if (at > 0) this.#seen(row, 'grains', at);
    this.#version += 1;
    this.rows.dropIfEmpty(row);
  }

  /** Sets whether a minion is connected, and since when; undefined: not known. */
  setPresence(
    id: string,
    known: { readonly present: boolean; readonly since: number } | undefined,
  ) {
    const row = this.#rowFor(id, known !== undefined);
    if (row === undefined) return;
    const { presence, since } = this.rows.columns;
    const next = known === undefined ? 0 : known.present ? PRESENT : ABSENT;
    // Records of presence have many minions of which few have changed.
    if (presence[row] !== next || since[row] !== (known?.since ?? 0)) this.#version += 1;
    presence[row] = next;
    since[row] = known?.since ?? 0;
    this.rows.dropIfEmpty(row);
  }

  /** A minion was seen. One that is not here is left out: events may name anything. */
  seen(id: string, by: SeenBy, at: number): void {
    const row = this.rows.find(id);
    if (row !== undefined) this.#seen(row, by, at);
  }

  /** A state run of a minion has ended. */
  stateRun(id: string, { jid, at, hasFailed }: StateRun): void {
    const row = this.rows.find(id);
    if (row === undefined || at < (this.rows.columns.runAt[row] ?? 0)) return;
    this.rows.setRun(row, jid, at, hasFailed);
    this.#version += 1;
  }

  /** A state run with `test=True` has ended. */
  testRun(id: string, { jid, at, hasFailed, would = -1 }: TestRun): void {
    const row = this.rows.find(id);
    if (row === undefined || at < (this.rows.columns.testAt[row] ?? 0)) return;
    this.rows.setTest(row, jid, at, { hasFailed, would });
    this.#version += 1;
  }

  /** The state of a minion's key; undefined without one. */
  keyOf(id: string): FleetKey | undefined {
    const row = this.find(id);
    return row === undefined ? undefined : KEYS[(this.rows.columns.key[row] ?? 0) - 1];
  }

  /** The row of a minion with a key; undefined if there is none. */
  find(id: string): number | undefined {
    const row = this.rows.find(id);
    return row === undefined || this.rows.columns.key[row] === 0 ? undefined : row;
  }

  /** Reads a row. */
  read(row: number, parts: RowParts): FleetRow {
    const { columns, ids, grains } = this.rows;
    const key = KEYS[(columns.key[row] ?? 0) - 1] ?? 'denied';
    const at = columns.seenAt[row] ?? 0;
    const by = SEEN_BY[columns.seenBy[row] ?? 0] ?? 'event';
    const since = columns.since[row] ?? 0;
    return {
      id: ids[row] ?? '',
      key,
      hasDenied: columns.denied[row] === 1,
      present: key === 'accepted' ? columns.presence[row] === PRESENT : undefined,
      since: since > 0 && key === 'accepted' ? since : undefined,
      seen: at > 0 ? { at, by } : undefined,
      grains: grains.map(({ codes, texts }) => (parts.grains ? texts.textOf(codes[row] ?? 0) : '')),
      stateRun: parts.runs ? this.#run(row) : undefined,
      testRun: parts.runs ? this.#test(row) : undefined,
      drift: DRIFTS[parts.runs ? this.rows.driftOf(row) : 0] ?? 'unknown',
    };
  }

  #run(row: number): StateRun | undefined {
    const { runAt, runJid, runFailed } = this.rows.columns;
    const at = runAt[row] ?? 0;
    const jid = this.rows.jids.textOf(runJid[row] ?? 0);
    return at > 0 ? { jid, at, hasFailed: runFailed[row] === 1 } : undefined;
  }

  #test(row: number): TestRun | undefined {
    const { testAt, testJid, testFailed, testWould } = this.rows.columns;
    const at = testAt[row] ?? 0;
    if (at === 0) return undefined;
    const would = testWould[row] ?? 0;
    return {
      jid: this.rows.jids.textOf(testJid[row] ?? 0),
      at,
      hasFailed: testFailed[row] === 1,
      would: would < 0 ? undefined : would,
    };
  }

  #rowFor(id: string, isNeeded: boolean): number | undefined {
    return isNeeded ? this.rows.at(id) : this.rows.find(id);
  }

  #seen(row: number, by: SeenBy, at: number): void {
    const { seenAt, seenBy } = this.rows.columns;
    if (at <= (seenAt[row] ?? 0)) return;
    seenAt[row] = at;
    this.#version += 1;
    seenBy[row] = SEEN_BY.indexOf(by);
  }
}

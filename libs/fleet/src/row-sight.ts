import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FleetIndex, RowParts } from './fleet-index.ts';

/** What a reader may see of minions. */
export interface Judge {
  /** Sees all minions with a key, whatever its state. */
  readonly seesKeys: boolean;
  /** Sees this minion while its key is accepted. */
  seesMinion(id: string): boolean;
  seesGrains(id: string): boolean;
  /** Sees how its state runs ended. */
  seesRuns(id: string): boolean;
}

/** Rows that are judged before other work has its turn: some ms. */
const SLICE = 2_000;
const MINION = 1;
const GRAINS = 2;
const RUNS = 4;
const ACCEPTED = 1;

/** The minions that readers with the same rights see: each is judged once. */
export class RowSight {
  readonly #index: FleetIndex;
  readonly #judge: Judge | undefined;
  #verdicts: Uint8Array = new Uint8Array(0);
  #serials: Uint32Array = new Uint32Array(0);

  /** @param judge undefined: all is seen */
  constructor(index: FleetIndex, judge: Judge | undefined) {
    this.#index = index;
    this.#judge = judge;
  }

  /** Judges all rows, in slices. Rows that come later are judged when they are read. */
  async prepare(): Promise<void> {
    if (this.#judge === undefined) return;
    const { rows } = this.#index;
    for (let row = 0; row < rows.end; row += 1) {
      if (row % SLICE === SLICE - 1) await nextTurn();
      this.#verdictOn(row);
    }
  }

  /** True if a row with a key may be seen. */
  sees(row: number): boolean {
    const key = this.#index.rows.columns.key[row] ?? 0;
    if (key === 0) return false;
    if (this.#judge === undefined || this.#judge.seesKeys) return true;
    return key === ACCEPTED && (this.#verdictOn(row) & MINION) !== 0;
  }

  /** True if the grains of a row that is seen may be read. */
  seesGrains(row: number): boolean {
    return this.#judge === undefined || (this.#verdictOn(row) & GRAINS) !== 0;
  }

  /** True if the state runs of a row that is seen may be read. */
  seesRuns(row: number): boolean {
    return this.#judge === undefined || (this.#verdictOn(row) & RUNS) !== 0;
  }

  /** What may be read of a row that is seen. */
  partsOf(row: number): RowParts {
    return { grains: this.seesGrains(row), runs: this.seesRuns(row) };
  }

  #verdictOn(row: number): number {
    const { columns, ids } = this.#index.rows;
    const serial = columns.serial[row] ?? 0;
    if (serial === 0 || this.#judge === undefined) return 0;
    if (this.#serials.length < columns.serial.length) this.#grow(columns.serial.length);
    if (this.#serials[row] === serial) return this.#verdicts[row] ?? 0;
    const id = ids[row] ?? '';
    const verdict =
      (this.#judge.seesMinion(id) ? MINION : 0) |
      (this.#judge.seesGrains(id) ? GRAINS : 0) |
      (this.#judge.seesRuns(id) ? RUNS : 0);
    this.#serials[row] = serial;
    return (this.#verdicts[row] = verdict);
  }

  #grow(rows: number): void {
    const [verdicts, serials] = [new Uint8Array(rows), new Uint32Array(rows)];
    verdicts.set(this.#verdicts);
    serials.set(this.#serials);
    this.#verdicts = verdicts;
    this.#serials = serials;
  }
}

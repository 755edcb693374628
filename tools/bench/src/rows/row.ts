import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import type { Installed } from '../masters/start-masters.ts';
import type { Figure } from '../report/figure.ts';

/** The input of every row. */
export interface RowContext {
  readonly installed: Installed;
  /** Alternating pairs. */
  readonly pairs: number;
  readonly sliceSeconds: number;
  /** Largest fleet that was asked for. */
  readonly minionsMax: number;
  readonly say: (line: string) => void;
}

/** A row of the benchmark: it starts what it needs and ends it. */
export interface Row {
  readonly name: string;
  readonly about: string;
  /** False for rows that run only when `--only` names them. */
  readonly inTable: boolean;
  readonly run: (context: RowContext) => Promise<readonly Figure[]>;
}

/** Samples by master. */
export type Samples<T> = ReadonlyMap<MasterName, readonly T[]>;

/**
 * Takes samples of all masters in turn, so that samples of one index are neighbours in time. Every
 * second round goes backwards: a drift of the machine then favours neither. With `warmUp` there is
 * a round before that counts nothing: code is compiled, caches are filled.
 */
export async function alternate<T>(
  masters: readonly MasterUnderTest[],
  rounds: number,
  sample: (master: MasterUnderTest, round: number) => Promise<T>,
  { warmUp = false } = {},
): Promise<Samples<T>> {
  if (warmUp) for (const master of masters) await sample(master, -1);
  const samples = new Map<MasterName, T[]>(masters.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? masters : [...masters].reverse();
    for (const master of order) {
      samples.get(master.name)?.push(await sample(master, round));
    }
  }
  return samples;
}

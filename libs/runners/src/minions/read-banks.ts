import type { BankName, MinionBanks } from '@brine/master';
import { pack, type SaltMap } from '@brine/wire';

/** Limit of concurrent reads. */
const READ_AT_ONCE = 64;

/** Size limit of an answer, which is one event; a larger one would fill the memory of a process. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/**
 * The records of these minions in a bank.
 * @param options `otherwise` replaces missing records; without it such minions are left out
 * @throws RangeError for more than 64 MiB together
 */
export async function readAll(
  banks: MinionBanks,
  bank: BankName,
  ids: readonly string[],
  options: {
    readonly env?: string | undefined;
    readonly otherwise?: (() => SaltMap) | undefined;
  },
): Promise<SaltMap> {
  const { env, otherwise } = options;
  const shown: SaltMap = new Map();
  let bytes = 0;
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE);
    const found = await Promise.all(some.map((id) => banks.fetch(bank, id, env)));
    for (const [at, id] of some.entries()) {
      const kept = found[at] ?? otherwise?.();
      if (kept === undefined) continue;
      bytes += pack(kept).length;
      if (bytes > ANSWER_MAX_BYTES) {
        throw new RangeError(
          `the ${bank} of these ${ids.length} minions has more than ${ANSWER_MAX_BYTES} bytes: ` +
            'name fewer minions',
        );
      }
      shown.set(id, kept);
    }
  }
  return shown;
}

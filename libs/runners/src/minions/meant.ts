import { type MasterPorts } from '@brine/master';
import { expectedMinions } from '@brine/master/functions';
import type { SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments } from '../function.ts';

/**
 * The minions that `tgt` and `tgt_type` match, by the data of the master; none for an invalid
 * expression.
 */
export async function meantMinions(
  master: MasterPorts,
  { named }: Pick<BoundArguments, 'named'>,
): Promise<readonly string[]> {
  const tgt = targetOf(named.get('tgt'));
  const tgtType = pyStr(named.get('tgt_type') ?? 'glob');
  return (await expectedMinions(master, { tgt, tgtType })).minions;
}

/** A target in an argument. */
export function targetOf(tgt: SaltValue | undefined): string | string[] {
  if (tgt === undefined || tgt === null) return '';
  return Array.isArray(tgt) ? tgt.map(pyStr) : pyStr(tgt);
}

import { type MasterPorts } from '@brine/master';
import { expectedMinions } from '@brine/master/functions';
import type { SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments } from '../function.ts';

/**
 * The minions that the arguments `tgt` and `tgt_type` mean, as the master knows them; none for an
 * expression that is broken.
 */
export async function meantMinions(
  master: MasterPorts,
  { named }: Pick<BoundArguments, 'named'>,
): Promise<readonly string[]> {
  const tgt = targetOf(named.get('tgt'));
  const tgtType = pyStr(named.get('tgt_type') ?? 'glob');
  return (await expectedMinions(master, { tgt, tgtType })).minions;
}

/** A target as an argument gives it. */
export function targetOf(tgt: SaltValue | undefined): string | string[] {
  if (tgt === undefined || tgt === null) return '';
  return Array.isArray(tgt) ? tgt.map(pyStr) : pyStr(tgt);
}

import type { AuditedAct, AuditPage } from '@brine/api/runs';

/** In a file of CSV, in this order. */
export const AUDIT_COLUMNS = [
  'at',
  'row',
  'kind',
  'outcome',
  'principal',
  'claimed',
  'fun',
  'target',
  'path',
  'jid',
  'via',
  'peer',
  'source',
] as const satisfies readonly (keyof AuditedAct)[];

/** Acts of a file, at most: a page has them all in its memory. */
export const EXPORT_MAX = 10_000;
const PAGE = 500;

/** All acts up to the bound, by pages. @param ask asks for one page */
export async function exported(
  ask: (limit: number, after: string) => Promise<AuditPage>,
): Promise<{ readonly acts: readonly AuditedAct[]; readonly isWhole: boolean }> {
  const acts: AuditedAct[] = [];
  let after = '';
  while (acts.length < EXPORT_MAX) {
    const { items, next } = await ask(Math.min(PAGE, EXPORT_MAX - acts.length), after);
    acts.push(...items);
    if (next === null) return { acts, isWhole: true };
    after = next;
  }
  return { acts, isWhole: false };
}

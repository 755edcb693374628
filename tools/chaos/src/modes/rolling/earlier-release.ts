import type { LedgerReport } from '@brine/ledger-check';

/**
 * Removes jobs of 0.2.0's known bug from the ledger: a leaving gateway may have answered a command
 * that had just hung up. Its successor then treats the retry as another command.
 * @param last the last job stored while a gateway of that release may have run
 * @returns `forgiven`: the jobs that were left out
 */
export function withoutEarlierFault(
  ledger: LedgerReport,
  last: string,
): { readonly ledger: LedgerReport; readonly forgiven: readonly string[] } {
  const isEarlier = ({ kind, jid }: LedgerReport['differences'][number]): boolean =>
    kind === 'job-twice' && jid <= last;
  const forgiven = ledger.differences.filter(isEarlier).map(({ jid }) => jid);
  if (forgiven.length === 0) return { ledger, forgiven };
  const { 'job-twice': twice = 0, ...others } = ledger.counts;
  const left = twice - forgiven.length;
  const counts = left > 0 ? { ...others, 'job-twice': left } : others;
  const differences = ledger.differences.filter((one) => !isEarlier(one));
  return { ledger: { ...ledger, differences, counts, ok: differences.length === 0 }, forgiven };
}

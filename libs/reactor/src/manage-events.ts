import type { RecordMac } from '@brine/crypt';

/** Tag prefix of the runner `reactor` of a stock Salt (salt/runners/reactor.py). */
export const MANAGE_ROOT = 'salt/reactors/manage';

/** The requests of that runner. */
const MANAGE_ACTS = ['add', 'delete', 'list', 'is_leader', 'set_leader'] as const;

export type ManageAct = (typeof MANAGE_ACTS)[number];

/** The request in an event of a tool of this host; undefined for every other event. */
export function manageActOf(tag: string): ManageAct | undefined {
  return MANAGE_ACTS.find((act) => tag.endsWith(`${MANAGE_ROOT}/${act}`));
}

/** The purpose of a MAC for {@link proofOf}. */
export const MANAGE_PURPOSE = 'reactor manage';

/** Maximum age of a proof; the clocks of hosts and NATS may differ by this much. */
const PROOF_AGE_MS = 10 * 60_000;

/** Proves that the master's key came with an event, without storing the key. */
export function proofOf(
  mac: Pick<RecordMac, 'of'>,
  { tag, body }: { readonly tag: string; readonly body: Uint8Array },
  nowMs: number,
): string {
  return `${nowMs}.${mac.of(String(nowMs), tag, body)}`;
}

/** True if a proof was made for this event, shortly before the stream stored it. */
export function isProven(
  mac: Pick<RecordMac, 'isOf'>,
  event: {
    readonly tag: string;
    readonly body: Uint8Array;
    readonly proof: string | undefined;
    readonly timeMs: number;
  },
): boolean {
  const [, madeMs = '', sum = ''] = /^(\d{1,16})\.(.+)$/.exec(event.proof ?? '') ?? [];
  if (madeMs === '' || Math.abs(event.timeMs - Number(madeMs)) > PROOF_AGE_MS) return false;
  return mac.isOf(sum, madeMs, event.tag, event.body);
}

import type { RecordMac } from '@brine/crypt';

/** Where the runner `reactor` of a stock Salt speaks (salt/runners/reactor.py). */
export const MANAGE_ROOT = 'salt/reactors/manage';

/** What it asks for. */
const MANAGE_ACTS = ['add', 'delete', 'list', 'is_leader', 'set_leader'] as const;

/** One of them. */
export type ManageAct = (typeof MANAGE_ACTS)[number];

/** What an event of a tool of this host asks of the reactor; undefined for every other event. */
export function manageActOf(tag: string): ManageAct | undefined {
  return MANAGE_ACTS.find((act) => tag.endsWith(`${MANAGE_ROOT}/${act}`));
}

/** What a MAC for {@link proofOf} is made for. */
export const MANAGE_PURPOSE = 'reactor manage';

/** Clocks of the hosts and of NATS may differ by this much; an older proof counts no more. */
const PROOF_AGE_MS = 10 * 60_000;

/** The proof that the master's key came with an event, in place of the key. */
export function proofOf(
  mac: Pick<RecordMac, 'of'>,
  { tag, body }: { readonly tag: string; readonly body: Uint8Array },
  nowMs: number,
): string {
  return `${nowMs}.${mac.of(String(nowMs), tag, body)}`;
}

/** Whether a proof was made for this event, not long before the stream got it. */
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

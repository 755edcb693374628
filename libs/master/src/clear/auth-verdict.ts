import type { MinionKey } from '../ports/key-ports.ts';

/** What is known when a minion asks to sign in. */
export interface AuthFacts {
  /** The record of this id, `deleted` ones included. */
  readonly key: MinionKey | undefined;
  /** The offered public key, as it is stored. */
  readonly pub: string;
  readonly openMode: boolean;
  /**
   * `accept` by auto_accept, autosign_file, stub or autosign_grains; `reject` by autoreject_file.
   */
  readonly autosign: 'accept' | 'reject' | 'none';
  /** More minions than `max_minions` are signed in and this one is not among them. */
  readonly full: boolean;
}

/** The word of the `salt/auth` event. */
export type AuthAct = 'accept' | 'pend' | 'reject' | 'denied' | 'full' | 'error';

/** The decision, the event it fires, and the record it leaves behind. */
export interface AuthVerdict {
  /** Salt's `ret`: true means "key cached, wait". Absent: signed in. */
  readonly ret?: boolean | 'full';
  readonly act: AuthAct;
  /** `result` of the event. */
  readonly result: boolean;
  /** The record to write; absent when it stays as it is. */
  readonly write?: MinionKey;
}

/** How many refused keys are kept per id; more would let a stranger fill the store. */
const DENIED_KEPT_MAX = 8;

/**
 * Salt's decision on a sign-in (salt/channel/server.py `_auth`), without any I/O.
 * The order of the questions is Salt's: full, open mode, rejected, accepted, unknown, pending.
 */
export function judgeAuth(facts: AuthFacts): AuthVerdict {
  const { key, pub } = facts;
  const known = key !== undefined && key.state !== 'deleted' ? key : undefined;
  const denied = key?.denied ?? [];
  if (facts.full) return { ret: 'full', act: 'full', result: false };
  if (facts.openMode) return accept(known, pub, denied);
  switch (known?.state) {
    case 'rejected':
      return { ret: false, act: 'reject', result: false };
    case 'accepted':
      return known.pub === pub ? accept(known, pub, denied) : deny(known, pub);
    case 'pending':
      return judgePending(known, facts);
    default:
      return judgeUnknown(facts, denied);
  }
}

function judgeUnknown(facts: AuthFacts, denied: readonly string[]): AuthVerdict {
  const { pub } = facts;
  switch (facts.autosign) {
    case 'reject':
      return {
        ret: false,
        act: 'reject',
        result: false,
        write: { state: 'rejected', pub, denied },
      };
    case 'accept':
      return accept(undefined, pub, denied);
    case 'none':
      return { ret: true, act: 'pend', result: true, write: { state: 'pending', pub, denied } };
  }
}

function judgePending(known: MinionKey, facts: AuthFacts): AuthVerdict {
  if (facts.autosign === 'reject') {
    return { ret: false, act: 'reject', result: false, write: { ...known, state: 'rejected' } };
  }
  if (known.pub !== facts.pub) return deny(known, facts.pub);
  if (facts.autosign === 'accept') return accept(known, facts.pub, known.denied);
  return { ret: true, act: 'pend', result: true };
}

function accept(known: MinionKey | undefined, pub: string, denied: readonly string[]): AuthVerdict {
  const stays = known?.state === 'accepted' && known.pub === pub;
  return {
    act: 'accept',
    result: true,
    ...(stays ? {} : { write: { state: 'accepted', pub, denied } }),
  };
}

function deny(known: MinionKey, pub: string): AuthVerdict {
  const verdict: AuthVerdict = { ret: false, act: 'denied', result: false };
  if (known.denied.includes(pub)) return verdict;
  return {
    ...verdict,
    write: { ...known, denied: [...known.denied, pub].slice(-DENIED_KEPT_MAX) },
  };
}

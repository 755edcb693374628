import type { MinionKey } from '../ports/key-ports.ts';

/** The facts about a log-in of a minion. */
export interface AuthFacts {
  /** The record of this id, `deleted` ones included. */
  readonly key: MinionKey | undefined;
  /** The offered public key, in its stored form. */
  readonly pub: string;
  readonly openMode: boolean;
  /**
   * `accept` by auto_accept, autosign_file, stub or autosign_grains; `reject` by autoreject_file.
   */
  readonly autosign: 'accept' | 'reject' | 'none';
  /** True if more minions than `max_minions` are logged in, and this one is not among them. */
  readonly full: boolean;
}

/** The act in the `salt/auth` event. */
export type AuthAct = 'accept' | 'pend' | 'reject' | 'denied' | 'full' | 'error';

/** The decision, its event, and the record to write. */
export interface AuthVerdict {
  /** Salt's `ret`: true means "key cached, wait". Absent: logged in. */
  readonly ret?: boolean | 'full';
  readonly act: AuthAct;
  /** `result` of the event. */
  readonly result: boolean;
  /** The record to write; absent if it does not change. */
  readonly write?: MinionKey;
}

/** Limit of stored refused keys per id; without it a stranger could fill the store. */
const DENIED_KEPT_MAX = 8;

/**
 * Salt's decision on a log-in (salt/channel/server.py `_auth`), without any I/O. The order of the
 * checks is Salt's: full, open mode, rejected, accepted, unknown, pending.
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

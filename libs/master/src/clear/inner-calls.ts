import { mayCall } from '@brine/acl';
import { recordInner } from '../audit-records.ts';
import type { FunctionCall, MasterPorts } from '../ports/ports.ts';
import type { Caller } from './caller.ts';
import type { AskedFunction } from './function-call.ts';
import { callerNow, withinCall } from './kept-caller.ts';

/** The caller of a call, and its proof. */
export type CallIdentity = Pick<
  FunctionCall,
  'kind' | 'fun' | 'jid' | 'user' | 'principal' | 'caller' | 'via' | 'depth'
>;

/** The name of a call in the records of its acts. */
export function nameOfCall({ kind, fun, jid }: CallIdentity): string {
  return `${kind}.${fun} ${jid}`;
}

/** True if the acts of a call are judged by the rights of its caller. */
export function isJudged(
  { rules }: Pick<MasterPorts, 'rules'>,
  { caller }: Pick<CallIdentity, 'caller'>,
): boolean {
  return caller !== undefined && rules.innerCalls !== 'stock';
}

/**
 * The caller for the acts of a call, with its current rights, which may be none. With
 * `brine.inner_calls: stock` it may do anything, under its own name.
 * @param isOwn the function chose this act itself: a right to the function covers it
 */
export function callerOf(ports: MasterPorts, call: CallIdentity, isOwn = false): Caller {
  const { caller: kept, user, principal } = call;
  const via = nameOfCall(call);
  if (kept === undefined) return { kind: 'user', user, principal, acl: undefined, via };
  const now = callerNow(ports, kept);
  if (now === undefined) return { kind: 'user', user, principal, acl: [], via };
  return withinCall(ports, { ...now, via }, isOwn);
}

/** A runner or wheel that another call may not make. */
export class InnerCallRefusedError extends Error {
  override readonly name = 'InnerCallRefusedError';

  constructor(
    { kind, fun }: AskedFunction,
    { user, principal }: Pick<Caller, 'user' | 'principal'>,
  ) {
    const who = user === '' ? principal : user;
    super(`${kind}.${fun} is not allowed for user ${who}, who asked for this work.`);
  }
}

/**
 * Judges a runner or wheel inside a call by the rights of that call's caller, and records it.
 * @param jid of the run, if it has one of its own
 * @throws InnerCallRefusedError
 */
export function judgeInner(
  ports: MasterPorts,
  call: CallIdentity,
  asked: AskedFunction,
  jid = call.jid,
): void {
  judgeLater(ports, call, asked, jid);
  recordInner(ports, { ...asked, jid }, callerOf(ports, call), 'done');
}

/**
 * Judges a runner or wheel that the master will make later because of a call: from a queue, or by
 * its schedule. A refusal is recorded.
 * @throws InnerCallRefusedError
 */
export function judgeLater(
  ports: MasterPorts,
  call: CallIdentity,
  asked: AskedFunction,
  jid = call.jid,
): void {
  const caller = callerOf(ports, call);
  if (caller.acl === undefined || mayCall(caller.acl, asked) === true) return;
  recordInner(ports, { ...asked, jid }, caller, 'refused');
  ports.count('inner_call_refused');
  throw new InnerCallRefusedError(asked, caller);
}

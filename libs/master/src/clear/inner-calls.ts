import { mayCall } from '@brine/acl';
import { recordInner } from '../audit-records.ts';
import type { FunctionCall, MasterPorts } from '../ports/ports.ts';
import type { Caller } from './caller.ts';
import type { AskedFunction } from './function-call.ts';
import { callerNow, withinCall } from './kept-caller.ts';

/** Who asked for a call, and as what. */
export type CallIdentity = Pick<
  FunctionCall,
  'kind' | 'fun' | 'jid' | 'user' | 'principal' | 'caller' | 'via' | 'depth'
>;

/** A call as the rows of what it does name it. */
export function nameOfCall({ kind, fun, jid }: CallIdentity): string {
  return `${kind}.${fun} ${jid}`;
}

/** Whether what a call does is judged by the rights of its caller. */
export function isJudged(
  { rules }: Pick<MasterPorts, 'rules'>,
  { caller }: Pick<CallIdentity, 'caller'>,
): boolean {
  return caller !== undefined && rules.innerCalls !== 'stock';
}

/**
 * The caller for what a call does: its rights are those that it has now, and none where it has lost
 * them. With `brine.inner_calls: stock` it may do anything, under its own name.
 * @param isOwn the function of the call chose this itself: a right to the function covers it
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
 * Judges a runner or wheel that a call makes by the rights of whoever asked for that call, and puts
 * it on record.
 * @param jid of the run, where it has one of its own
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
 * Judges a runner or wheel that the master is to make later because of a call: out of a queue, or
 * by its schedule. A refusal is on record.
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

import { createHash } from 'node:crypto';
import { digestOf } from '@brine/crypt';
import {
  isJid,
  isMinionId,
  type Jid,
  jobReturnTag,
  jobSubErrorTag,
  LARGE_RETURN_BYTES,
} from '@brine/job';
import {
  appendField,
  cutFields,
  isMap,
  isName,
  type MapScan,
  pack,
  type SaltMap,
  scanMap,
} from '@brine/wire';
import type { AesRequest } from '../channel.ts';
import type { AnswerAbout, EventToAppend, MasterPorts, Request } from '../ports/ports.ts';
import { WORDS_OF_THE_MASTER } from './may-fire.ts';
import { keepRefusal } from './return-refusal.ts';
import { checksSignatures, isSignatureGood } from './return-signature.ts';

/**
 * Fields that are removed. The token is a credential; readers of a job's events would trust the
 * others as the master's. Stock minions return none of them.
 */
const LEFT_OUT = ['tok', 'nonce', ...WORDS_OF_THE_MASTER] as const;

/** Fields that identify a return; `nonce`, `ts` and `_stamp` differ with every send. */
const IDENTITY_FIELDS = ['id', 'jid', 'fun', 'return', 'retcode', 'success', 'out'] as const;

/** Replaces a missing field; no msgpack value begins with this byte. */
const ABSENT = Buffer.from([0xc1]);

/** Functions whose failed states are separate events (salt/utils/event.py SUB_EVENT). */
const SUB_EVENT_FUNCTIONS: ReadonlySet<string> = new Set(['state.highstate', 'state.sls']);

/** The name of a state is the minion's text: only this form becomes a tag. */
const STATE_FUNCTION = /^[a-z]\w*\.[a-z_]\w*$/i;

/** Limit of sub events of one return. Further failed states are in the return alone. */
const SUB_EVENTS_MAX = 1000;

/** The facts of a return that its trace shows. */
export type ReturnedJob = AnswerAbout & { readonly kind: 'return' };

/**
 * Takes a minion's return (salt/utils/job.py `store_job`): one event, appended before the answer. A
 * load without `jid`, `id` or `return`, or with an invalid id or jid, is ignored as in Salt.
 *
 * The bytes are forwarded unchanged, without the channel's fields: nothing is decoded and encoded
 * again.
 */
export async function takeReturn(
  ports: MasterPorts,
  request: Request,
  body: Buffer,
): Promise<ReturnedJob | undefined> {
  const scan = scanMap(body);
  const minion = scan.text('id');
  const jid = scan.text('jid');
  if (minion === undefined || jid === undefined || !scan.has('return')) {
    ports.count('return_incomplete');
    await keepRefusal(ports, { jid, minion }, 'it had no return');
    return undefined;
  }
  if (!isMinionId(minion)) {
    ports.count('return_invalid_id');
    return undefined;
  }
  if (speaksForAnother(ports, scan, minion)) {
    ports.count('return_for_another');
    await keepRefusal(ports, { jid, minion }, 'it named another minion as its sender');
    return undefined;
  }
  if (checksSignatures(ports.rules) && !(await isSignatureGood(ports, scan, minion))) {
    return undefined;
  }
  if (jid === 'req') return takeUnpublished(ports, request, scan, minion);
  const event = cutFields(scan, LEFT_OUT);
  if (jid === 'nocache') return fireUnkept(ports, request, event, minion);
  if (!isJid(jid)) {
    ports.count('return_invalid_jid');
    return undefined;
  }
  // A minion may send it again: then it is two events, as at a stock master, and one row.
  const returned = await append(ports, request, scan, { body: event, jid, minion });
  await fireSubEvents(ports, scan, jid, minion);
  return returned;
}

/** The event of a usual return, and its trace. */
export interface UsualReturn {
  readonly event: EventToAppend & { readonly kind: 'ret' };
  readonly about: ReturnedJob;
}

/**
 * {@link takeReturn} for the usual return, up to its event: a return of a job by a minion with an
 * accepted key, without further checks or reports. Undefined for any other return, which then has
 * no effect yet.
 */
export function usualReturn(
  ports: MasterPorts,
  { receivedMs }: Request,
  { scan, minion, tokenChecked }: Pick<AesRequest, 'scan' | 'minion' | 'tokenChecked'>,
): UsualReturn | undefined {
  if (!tokenChecked || minion === undefined || scan.text('cmd') !== '_return') return undefined;
  const jid = scan.text('jid');
  if (!isJid(jid) || !scan.has('return') || scan.has('resource_id')) return undefined;
  if (checksSignatures(ports.rules) || ports.syndics.unanswering().has(minion)) return undefined;
  const failed = hasFailed(scan);
  if (failed && SUB_EVENT_FUNCTIONS.has(scan.text('fun') ?? '')) return undefined;
  const body = cutFields(scan, LEFT_OUT);
  return eventOf(ports, { scan, receivedMs, failed }, { body, jid, minion });
}

/** Salt's readers show a return under its `resource_id`, which the sender chooses freely. */
function speaksForAnother({ keys }: MasterPorts, scan: MapScan, minion: string): boolean {
  if (!scan.has('resource_id')) return false;
  const resource = scan.text('resource_id');
  return resource !== minion && keys.cached(resource ?? '')?.state === 'accepted';
}

/** Fires a return as an event without a row: the store does not read events of this kind. */
async function fireUnkept(
  ports: MasterPorts,
  request: Request,
  body: Buffer,
  minion: string,
): Promise<undefined> {
  const tag = `salt/job/nocache/ret/${minion}`;
  await ports.events.append({ kind: 'job', tag, body, minion, msgId: `nocache:${request.id}` });
}

/** A return without a published job (a schedule): it gets a job id here. */
async function takeUnpublished(
  ports: MasterPorts,
  request: Request,
  scan: MapScan,
  minion: string,
): Promise<ReturnedJob> {
  const jid = ports.nextJid();
  let event = cutFields(scan, [...LEFT_OUT, 'jid']);
  event = appendField(event, 'jid', jid);
  event = appendField(event, 'tgt', minion);
  event = appendField(event, 'tgt_type', 'glob');
  if (!scan.has('arg')) {
    event = appendField(event, 'arg', scan.value('fun_args') ?? []);
  }
  const msgId = `ret:req:${request.id}`;
  return append(ports, request, scan, { body: event, jid, minion, msgId });
}

async function append(
  ports: MasterPorts,
  { receivedMs }: Request,
  scan: MapScan,
  content: ReturnContent,
): Promise<ReturnedJob> {
  const { event, about } = eventOf(ports, { scan, receivedMs, failed: hasFailed(scan) }, content);
  await ports.events.append(event);
  ports.count('returns');
  // Counts returns that did not take the short path of usualReturn.
  ports.count('returns_in_full');
  return about;
}

/** The parts of a return's event. */
interface ReturnContent {
  readonly body: Buffer;
  readonly jid: Jid;
  readonly minion: string;
  readonly msgId?: string;
}

/** The event of a return. Call it once, because it decides whether the return is traced. */
function eventOf(
  ports: MasterPorts,
  returned: Pick<Request, 'receivedMs'> & { readonly scan: MapScan; readonly failed: boolean },
  { body, jid, minion, msgId }: ReturnContent,
): UsualReturn {
  const { scan, receivedMs, failed } = returned;
  const link = linkOf(scan);
  const traced = ports.traceReturn?.({ jid, minion, failed, receivedMs }) ?? false;
  const tag = jobReturnTag(jid, minion);
  const event: UsualReturn['event'] = { kind: 'ret', tag, body, jid, minion, link, traced };
  const once = msgId ?? (body.length > LARGE_RETURN_BYTES ? idOf(scan, jid, minion) : undefined);
  return {
    event: once === undefined ? event : { ...event, msgId: once },
    about: {
      kind: 'return',
      jid,
      minion,
      failed,
      traced,
      ...(link === undefined ? {} : { link }),
    },
  };
}

/** The same for every send of one return. */
function idOf(scan: MapScan, jid: Jid, minion: string): string {
  const pieces = IDENTITY_FIELDS.map((name) => scan.raw(name) ?? ABSENT);
  return `ret:${jid}:${minion}:${digestOf('sha1', pieces).toString('base64url')}`;
}

/** The trace of the sender; an invalid one is left out (W3C Trace Context 3.2). */
export function linkOf(scan: MapScan): string | undefined {
  const link = scan.text('traceparent');
  return link !== undefined && isName('traceparent', link) ? link : undefined;
}

/** As in Salt: `success` false or a return code other than 0. */
function hasFailed(scan: MapScan): boolean {
  if (scan.value('success') === false) return true;
  const retcode = scan.raw('retcode');
  return (
    retcode !== undefined && !(retcode.length === 1 && retcode[0] === 0) && !!scan.value('retcode')
  );
}

async function fireSubEvents(
  ports: MasterPorts,
  scan: MapScan,
  jid: Jid,
  minion: string,
): Promise<void> {
  const fun = scan.text('fun');
  const [retcode, user] = [scan.value('retcode'), scan.text('user')];
  if (fun === undefined || !SUB_EVENT_FUNCTIONS.has(fun) || !retcode) return;
  const returned = scan.value('return');
  if (!isMap(returned)) return;
  const failed = [...returned].filter(
    (entry): entry is [string, SaltMap] =>
      typeof entry[0] === 'string' && isMap(entry[1]) && entry[1].get('result') === false,
  );
  for (const [name, state] of failed.slice(0, SUB_EVENTS_MAX)) {
    const parts = name.split('_|-');
    const stateFunction = parts[3];
    if (parts[0] === undefined || stateFunction === undefined) continue;
    const data = new Map(state).set('retcode', retcode);
    // A state may choose neither the sender nor the job.
    for (const word of [...WORDS_OF_THE_MASTER, 'id', 'jid']) data.delete(word);
    const msgId = `sub:${jid}:${minion}:${createHash('sha1').update(name).digest('base64url')}`;
    const common = { kind: 'job', minion } as const;
    const legacy = `${parts[0]}.${stateFunction}`;
    if (STATE_FUNCTION.test(legacy)) {
      const body = pack(data);
      await ports.events.append({ ...common, tag: legacy, body, msgId: `${msgId}:legacy` });
    }
    data.set('jid', jid).set('id', minion).set('success', false);
    data.set('return', `Error: ${parts[0]}.${stateFunction}`).set('fun', fun);
    if (user !== undefined) data.set('user', user);
    const tag = jobSubErrorTag(jid, minion, fun);
    await ports.events.append({ ...common, tag, body: pack(data), msgId });
  }
}

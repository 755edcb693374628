import { isBlacklisted, readAcl } from '@brine/acl';
import { ASKER_TRACES, isJid, jobErrorTag } from '@brine/job';
import {
  isMap,
  listOf,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  WireError,
} from '@brine/wire';
import {
  buildErrorReply,
  buildPublishReply,
  COMMAND_NAME,
  parsePublish,
  type PublishRequest,
} from '@brine/wire/load';
import { pyRepr } from '@brine/wire/text';
import { recordClear } from '../audit-records.ts';
import type { AnswerAbout, MasterPorts, Request } from '../ports/ports.ts';
import {
  authenticate,
  type Caller,
  type ClearRequest,
  isMastersKey,
  isStranger,
  SUDO_PREFIX,
} from './caller.ts';
import { type Expected, expectedMinions, expectedWithin } from './expected-minions.ts';
import { isDeadlineFit, pieceOf, publishJob, UNFIT_DEADLINE } from './new-job.ts';

/** The answer to a publish. */
export interface PublishReply {
  readonly value: SaltMap;
  /** For its trace. */
  readonly about?: AnswerAbout;
}

/**
 * Publishes a job: finds its caller and its minions, writes once, then replies (salt/master.py
 * ClearFuncs.publish).
 */
export async function publish(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<PublishReply> {
  let asked: PublishRequest;
  try {
    asked = parsePublish(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    return { value: mapOf({ error: cause.message }) };
  }
  if (refusedByBlacklist(ports, asked.user === undefined ? [] : [asked.user], asked.fun)) {
    return refuse(ports, request, load, AUTHORIZATION);
  }
  const caller = await authenticate(ports, request, load, asked.kwargs);
  if (isStranger(caller)) return refuse(ports, request, load, AUTHENTICATION);
  return publishAs(ports, request, { load, asked, caller });
}

/** A publish whose caller is known. */
interface KnownPublish {
  readonly load: SaltMap;
  readonly asked: PublishRequest;
  readonly caller: Caller;
}

/**
 * Publishes a part of work that a caller began earlier, within its current rights, and records it.
 * One `request.id` publishes once.
 * @throws MasterUnavailableError, WireError for an invalid load
 */
export async function publishFor(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
  caller: Caller | undefined,
): Promise<PublishReply> {
  const asked = parsePublish(load);
  const names = caller === undefined ? [] : [caller.user];
  const isRefused = caller === undefined || refusedByBlacklist(ports, names, asked.fun);
  const reply = isRefused
    ? await refuse(ports, request, load, AUTHORIZATION)
    : await publishAs(ports, request, { load, asked, caller });
  recordClear(ports, request, {
    load: new Map([...load, ['cmd', 'publish']]),
    answer: reply.value,
    proven: caller,
  });
  return reply;
}

/**
 * Judges a publish without doing it: the minions that it would be expected to reach, or the error
 * of its refusal.
 */
export async function judgePublish(
  ports: MasterPorts,
  { load, asked, caller }: KnownPublish,
): Promise<Expected | SaltMap> {
  const refused = buildErrorReply(AUTHORIZATION.name, AUTHORIZATION.message);
  const names = [caller.user, ...(asked.user === undefined ? [] : [asked.user])];
  if (refusedByBlacklist(ports, names, asked.fun)) return refused;
  const handed = handedDown(ports, { load, asked, caller });
  const expected = await expectedFor(ports, caller, handed, asked);
  if (expected === undefined) return refused;
  const free = caller.acl === undefined || (await isFreeFor(ports, caller, asked.jid));
  return free ? expected : refused;
}

async function publishAs(
  ports: MasterPorts,
  request: Request,
  { load, asked, caller }: KnownPublish,
): Promise<PublishReply> {
  const handed = handedDown(ports, { load, asked, caller });
  const expected = await expectedFor(ports, caller, handed, asked);
  if (expected === undefined) {
    const named = caller.acl === undefined ? asked.jid : '';
    return refuse(ports, request, load, AUTHORIZATION, named);
  }
  if (caller.acl !== undefined && !(await isFreeFor(ports, caller, asked.jid))) {
    return refuse(ports, request, load, AUTHORIZATION);
  }
  if (!isDeadlineFit(asked))
    return { value: buildErrorReply('SaltInvocationError', UNFIT_DEADLINE) };
  if (expected.minions.length === 0 && !ports.rules.orderMasters) {
    return { value: noMinions(asked.tgt) };
  }
  const stored = await publishJob(ports, request, { load, asked, caller, handed, expected });
  if (stored === undefined) return { value: mapOf({ error: 'Could not allocate a job id' }) };
  if ('refused' in stored) {
    return { value: buildErrorReply('SaltInvocationError', stored.refused) };
  }
  const piece = pieceOf(request, asked);
  const published = buildPublishReply({
    jid: stored.jid,
    minions: [...stored.minions],
    missing: [...stored.missing],
  });
  const { traceparent } = asked;
  const about: AnswerAbout = {
    kind: 'publish',
    jid: stored.jid,
    ...(piece === undefined ? {} : { piece }),
    ...(traceparent === undefined ? {} : { link: traceparent }),
    ...(asked.tracestate === ASKER_TRACES ? { askerTraces: true } : {}),
  };
  return { value: mapOf({ enc: 'clear', load: published }), about };
}

interface Refusal {
  readonly name: string;
  readonly message: string;
}

const AUTHENTICATION: Refusal = {
  name: 'AuthenticationError',
  message: 'Authentication error occurred.',
};
const AUTHORIZATION: Refusal = {
  name: 'AuthorizationError',
  message: 'Authorization error occurred.',
};

/** Size limit of the load in the event of a refused publish, in bytes. */
const REFUSED_LOAD_MAX_BYTES = 64 * 1024;

/**
 * @param jid of the refused job, if its caller may choose jids. The event ends the job for a client
 * that waits for it, so a stranger must not name the job of another.
 */
async function refuse(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
  refusal: Refusal,
  jid = '',
): Promise<PublishReply> {
  ports.count(`publish_${refusal.name}`);
  const reply = buildErrorReply(refusal.name, refusal.message);
  if (!load.has('jid')) return { value: reply };
  // Strangers can cause these events, and they take room in the stream that returns need.
  if (ports.mayReportStranger?.() === false) {
    ports.count('publish_event_left_out');
    return { value: reply };
  }
  const data = new Map([...load, ...reply]);
  // Neither the key nor a password may reach the bus.
  data.delete('key');
  data.delete('kwargs');
  // Fields of our own commands, which mean nothing to readers.
  data.delete(COMMAND_NAME);
  if (data.get('tracestate') === ASKER_TRACES) data.delete('tracestate');
  let body = pack(data);
  if (body.length > REFUSED_LOAD_MAX_BYTES) body = pack(reply);
  const msgId = `publish-error:${request.id}`;
  await ports.events.append({ kind: 'job', tag: jobErrorTag(jid), body, msgId });
  return { value: reply };
}

/** The expected minions; undefined if no rights of the caller cover the job. */
async function expectedFor(
  ports: MasterPorts,
  { kind, user, acl: own }: Caller,
  handed: SaltValue[] | undefined,
  asked: PublishRequest,
): Promise<Expected | undefined> {
  if (kind !== 'user' && refusedByBlacklist(ports, [user], asked.fun)) return undefined;
  const acl = handed === undefined ? own : readAcl(handed);
  // As in Salt, a user of a higher master without a handed down list needs none.
  const isFree = acl === undefined || (kind === 'user' && handed?.length === 0);
  return isFree ? expectedMinions(ports, asked) : expectedWithin(ports, acl, asked);
}

/**
 * True if a caller with limited rights may publish under the jid that it chose: a new one, or that
 * of its own job, as batches do. Under a foreign jid, returns would reach the wrong caller.
 */
async function isFreeFor(ports: MasterPorts, { principal }: Caller, jid: string): Promise<boolean> {
  if (!isJid(jid)) return true;
  const job = await ports.jobs.ask('job', mapOf({ jid }));
  const free = !isMap(job) || job.get('principal') === principal;
  if (!free) ports.count('publish_under_foreign_jid');
  return free;
}

/** True if `publisher_acl_blacklist` contains the user, under any of its names, or a function. */
function refusedByBlacklist(
  { rules }: MasterPorts,
  names: readonly string[],
  fun: string | readonly string[],
): boolean {
  const all = names.flatMap((name) =>
    name.startsWith(SUDO_PREFIX) ? [name, name.slice(SUDO_PREFIX.length)] : [name],
  );
  return isBlacklisted(rules.publisherAclBlacklist, all, typeof fun === 'string' ? [fun] : fun);
}

/**
 * The rights of a user of a higher master. Its syndic hands them down, with a key of the master's
 * own user (salt/master.py ClearFuncs.publish).
 */
function handedDown(ports: MasterPorts, { load, asked: { kwargs }, caller }: KnownPublish) {
  // A publish within a caller's call has the rights of that caller.
  if (caller.via !== undefined) return undefined;
  const list = kwargs && listOf(kwargs, 'auth_list');
  return list !== undefined && isMastersKey(ports, textOf(load, 'key') ?? '') ? list : undefined;
}

function noMinions(tgt: string | string[]): SaltMap {
  const shown = typeof tgt === 'string' ? tgt : pyRepr(tgt);
  const error = `Master could not resolve minions for target ${shown}`;
  return mapOf({ enc: 'clear', load: buildPublishReply({ jid: null, minions: [], error }) });
}

import { isBlacklisted, readAcl } from '@brine/acl';
import { ASKER_TRACES, isJid, type Job, jobErrorTag } from '@brine/job';
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
import {
  type AllowedJob,
  isDeadlineFit,
  OF_COMMANDS,
  pieceOf,
  publishJob,
  UNFIT_DEADLINE,
} from './new-job.ts';
import { beginCommand, knownCommand, type Repeatable, repeatableIn } from './repeatable.ts';
import { changedTarget, EXPECT } from './target-digest.ts';

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
  const names = caller === undefined ? [] : namesOf(caller);
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
  const names = [...namesOf(caller), ...(asked.user === undefined ? [] : [asked.user])];
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
  const allowed = { load, asked, caller, handed, expected };
  const command = repeatableIn(load, caller);
  if (command === undefined) return publishNow(ports, request, allowed);
  return 'key' in command ? publishOnce(ports, request, allowed, command) : { value: command };
}

/** Publishes the job of a command that may come again, unless it did so before. */
async function publishOnce(
  ports: MasterPorts,
  request: Request,
  allowed: AllowedJob,
  command: Repeatable,
): Promise<PublishReply> {
  const known = await knownCommand(ports, command);
  if (known === undefined) {
    const refused = unfitTarget(ports, allowed);
    if (refused !== undefined) return { value: refused };
  }
  const begun = known ?? (await beginCommand(ports, command));
  if (begun === undefined) return { value: NO_JID };
  if (begun instanceof Map) return { value: begun };
  const { jid, isDone } = begun;
  if (isDone) return { value: published({ jid, minions: [], missing: [] }) };
  // Its job may be published already. The stream knows this id for two minutes; after that the job
  // is sent once more, under the same job id, which a minion runs once.
  const once = { ...request, id: command.requestId };
  const load = new Map(allowed.load);
  // It was counted when the command began.
  load.delete(EXPECT);
  const reply = await publishNow(ports, once, { ...allowed, load, jid });
  if (reply.about !== undefined)
    await ports.commands.done(command.key, { jid, body: command.body });
  return reply;
}

/** The refusal of a target that means no minion, or others than those that were counted. */
function unfitTarget(
  { rules }: MasterPorts,
  { load, asked, expected }: AllowedJob,
): SaltMap | undefined {
  const isNone = expected.minions.length === 0 && !rules.orderMasters;
  return changedTarget(load, expected.minions) ?? (isNone ? noMinions(asked.tgt) : undefined);
}

const NO_JID = mapOf({ error: 'Could not allocate a job id' });

async function publishNow(
  ports: MasterPorts,
  request: Request,
  allowed: AllowedJob,
): Promise<PublishReply> {
  const { asked } = allowed;
  const refused = unfitTarget(ports, allowed);
  if (refused !== undefined) return { value: refused };
  const stored = await publishJob(ports, request, allowed);
  if (stored === undefined) return { value: NO_JID };
  if ('refused' in stored) {
    return { value: buildErrorReply('SaltInvocationError', stored.refused) };
  }
  const piece = pieceOf(request, asked);
  const { traceparent } = asked;
  const about: AnswerAbout = {
    kind: 'publish',
    jid: stored.jid,
    ...(piece === undefined ? {} : { piece }),
    ...(traceparent === undefined ? {} : { link: traceparent }),
    ...(asked.tracestate === ASKER_TRACES ? { askerTraces: true } : {}),
  };
  return { value: published(stored), about };
}

function published({ jid, minions, missing }: Pick<Job, 'jid' | 'minions' | 'missing'>): SaltMap {
  const load = buildPublishReply({ jid, minions: [...minions], missing: [...missing] });
  return mapOf({ enc: 'clear', load });
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
  for (const name of OF_COMMANDS) data.delete(name);
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
  caller: Caller,
  handed: SaltValue[] | undefined,
  asked: PublishRequest,
): Promise<Expected | undefined> {
  const { kind, acl: own } = caller;
  if (kind !== 'user' && refusedByBlacklist(ports, namesOf(caller), asked.fun)) return undefined;
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

/** The user whose rights apply, and the one that a local key was given with. */
function namesOf({ user, localUser }: Caller): readonly string[] {
  return localUser === undefined ? [user] : [user, localUser];
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

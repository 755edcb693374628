import { readAcl } from '@brine/acl';
import { ASKER_TRACES, isJid, type Jid, type Job, jobErrorTag } from '@brine/job';
import {
  intOf,
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  WireError,
} from '@brine/wire';
import {
  buildErrorReply,
  buildPublishReply,
  parsePublish,
  type PublishRequest,
} from '@brine/wire/load';
import { pyRepr } from '@brine/wire/text';
import type { MasterPorts, Request } from '../ports/ports.ts';
import type { AnswerAbout } from '../ports/trace-ports.ts';
import { handedDown, refusedByBlacklist } from './authorise.ts';
import { authenticate, type Caller, isStranger } from './caller.ts';
import { durably } from './durable.ts';
import { type Expected, expectedMinions } from './expected-minions.ts';
import { expectedWithin } from './expected-within.ts';
import { type ClearRequest } from './principal.ts';
import { loadToKeep, type Prepared, publicationOf, userOf } from './publication.ts';

/** Always allowed and never listed: how a CLI asks whether a job still runs. */
const FIND_JOB = 'saltutil.find_job';

/** Job ids that are taken are stepped over this often; more means the store of ids is broken. */
const JID_TRIES_MAX = 100;

/** Prolongs or shortens `brine.job_deadline` for one job, in whole seconds. */
const DEADLINE_METADATA = 'brine_deadline';
/** No job is waited for longer, in seconds: 365 days. Beyond some it is no time any more. */
const DEADLINE_MAX = 365 * 86_400;

/** The reply and the job id it belongs to. */
export interface PublishReply {
  readonly value: SaltMap;
  /** For its trace. */
  readonly about?: AnswerAbout;
}

/**
 * Publishes a job: who asks, whom it concerns, one write, then the reply
 * (salt/master.py ClearFuncs.publish).
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
  const handed = handedDown(ports, load, asked.kwargs);
  const expected = await expectedFor(ports, caller, handed, asked);
  if (expected === undefined) {
    const named = caller.acl === undefined ? asked.jid : '';
    return refuse(ports, request, load, AUTHORIZATION, named);
  }
  if (caller.acl !== undefined && !(await isFreeFor(ports, caller, asked.jid))) {
    return refuse(ports, request, load, AUTHORIZATION);
  }
  if (!isDeadlineFit(asked)) return { value: buildErrorReply('SaltInvocationError', UNFIT) };
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

/** Publishes what its caller may publish; undefined where no job id could be had. */
export async function publishJob(
  ports: MasterPorts,
  request: Request,
  job: Omit<Prepared, 'jid' | 'piece'>,
): Promise<Pick<Job, 'jid' | 'minions' | 'missing'> | { readonly refused: string } | undefined> {
  const jid = await jobId(ports, job.asked.jid);
  if (jid === undefined) return undefined;
  const prepared = { ...job, jid, piece: pieceOf(request, job.asked) };
  const made = await durably(ports, jobOf(ports, request, prepared), job.asked);
  return 'refused' in made ? made : ports.publications.publish(made);
}

/** Whoever fixes a jid may publish several times under it: the spans of each are told apart. */
function pieceOf(request: Request, asked: PublishRequest): string | undefined {
  return isJid(asked.jid) ? request.id : undefined;
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

/**
 * @param jid of the job that was refused, where its publisher is one who gives jobs their ids: to
 *   whoever waits for that job the event ends it, and anybody can name the job of another
 */
/** The load of a refused publish is told on the bus up to this size, in bytes. */
const REFUSED_LOAD_MAX_BYTES = 64 * 1024;

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
  // Anybody causes these, and they lie in the stream that returns need.
  if (ports.mayTellOfStranger?.() === false) {
    ports.count('publish_event_left_out');
    return { value: reply };
  }
  const data = new Map([...load, ...reply]);
  // Neither the key nor a password may reach the bus.
  data.delete('key');
  data.delete('kwargs');
  let body = pack(data);
  if (body.length > REFUSED_LOAD_MAX_BYTES) body = pack(reply);
  const msgId = `publish-error:${request.id}`;
  await ports.events.append({ kind: 'job', tag: jobErrorTag(jid), body, msgId });
  return { value: reply };
}

const UNFIT = `${DEADLINE_METADATA} takes whole seconds from 0 to ${DEADLINE_MAX}`;

/** What is no time would be passed over, or be refused as a row; whoever asks relies on it. */
function isDeadlineFit({ kwargs }: PublishRequest): boolean {
  const metadata = kwargs && mapIn(kwargs, 'metadata');
  if ((metadata?.get(DEADLINE_METADATA) ?? undefined) === undefined) return true;
  const seconds = metadata && intOf(metadata, DEADLINE_METADATA);
  return seconds !== undefined && seconds >= 0 && seconds <= DEADLINE_MAX;
}

/** Whom the job is expected at; undefined where no rights of the caller cover it. */
async function expectedFor(
  ports: MasterPorts,
  { kind, user, acl: own }: Caller,
  handed: SaltValue[] | undefined,
  asked: PublishRequest,
): Promise<Expected | undefined> {
  if (kind !== 'user' && refusedByBlacklist(ports, [user], asked.fun)) return undefined;
  const acl = handed === undefined ? own : readAcl(handed);
  // Salt: only whom a key let in, with no list of rights, needs none.
  const isFree = acl === undefined || (kind === 'user' && acl.length === 0);
  return isFree ? expectedMinions(ports, asked) : expectedWithin(ports, acl, asked);
}

/**
 * Whether somebody with limited rights may publish under the id that he fixed: a new one, or that
 * of a job of his own, as batches do. Who waits for the job of another would see his returns.
 */
async function isFreeFor(ports: MasterPorts, { principal }: Caller, jid: string): Promise<boolean> {
  if (!isJid(jid)) return true;
  const job = await ports.jobs.ask('job', mapOf({ jid }));
  const free = !isMap(job) || job.get('principal') === principal;
  if (!free) ports.count('publish_under_foreign_jid');
  return free;
}

/** The id the caller fixed (a syndic, a batch), or a fresh one. */
async function jobId(ports: MasterPorts, asked: string): Promise<Jid | undefined> {
  if (isJid(asked)) return asked;
  for (let attempt = 0; attempt < JID_TRIES_MAX; attempt += 1) {
    const jid = ports.nextJid();
    if (await ports.publications.reserve(jid)) return jid;
  }
  return undefined;
}

function jobOf(ports: MasterPorts, request: Request, prepared: Prepared): Job {
  const { load, asked, caller, expected, jid, piece } = prepared;
  const publishedAt = ports.now();
  const metadata = asked.kwargs && mapIn(asked.kwargs, 'metadata');
  const deadline = (metadata && intOf(metadata, DEADLINE_METADATA)) ?? ports.rules.jobDeadline;
  const user = userOf(prepared);
  return {
    jid,
    publication: pack(publicationOf(ports, prepared)),
    load: pack(loadToKeep(load, jid, user)),
    principal: caller.principal,
    user: user ?? '',
    fun: asked.fun,
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    minions: answering(ports, expected.minions),
    missing: expected.missing,
    publishedAt,
    deadlineAt: publishedAt + deadline * 1000,
    notAfter: publishedAt + ports.rules.notAfter * 1000,
    hidden: asked.fun === FIND_JOB,
    host: request.gatewayHost,
    requestId: request.id,
    ...(piece === undefined ? {} : { piece }),
  };
}

/** A syndic answers no job: who does below it is told in lists of their own. */
function answering({ syndics }: MasterPorts, minions: readonly string[]): readonly string[] {
  const unanswering = syndics.unanswering();
  return unanswering.size === 0 ? minions : minions.filter((id) => !unanswering.has(id));
}

function noMinions(tgt: string | string[]): SaltMap {
  const shown = typeof tgt === 'string' ? tgt : pyRepr(tgt);
  const error = `Master could not resolve minions for target ${shown}`;
  return mapOf({ enc: 'clear', load: buildPublishReply({ jid: null, minions: [], error }) });
}

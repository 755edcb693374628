import {
  ASKER_TRACES,
  isJid,
  jobErrorTag,
  publishingPart,
  traceparentOf,
  type Jid,
} from '@brine/job';
import { matchGlob } from '@brine/target';
import {
  boolOf,
  buildErrorReply,
  buildPublishedJob,
  buildPublishReply,
  intOf,
  listOf,
  mapIn,
  mapOf,
  pack,
  parsePublish,
  pyRepr,
  textOf,
  WireError,
  type PublishRequest,
  type SaltMap,
} from '@brine/wire';
import type { Job, MasterPorts, Request } from '../ports.ts';
import type { AnswerAbout } from '../trace-ports.ts';
import { expectedMinions, type Expected } from './expected-minions.ts';
import { authenticateKey, type Principal } from './principal.ts';

/** Names of publish kwargs that go on into the publication (salt/master.py `_prep_pub`). */
const PASSED_ON = ['ret_config', 'ret_kwargs', 'metadata', 'module_executors', 'executor_opts'];

/** Always allowed and never listed: how a CLI asks whether a job still runs. */
const FIND_JOB = 'saltutil.find_job';

/** Job ids that are taken are stepped over this often; more means the store of ids is broken. */
const JID_TRIES_MAX = 100;

/** Prolongs or shortens `brine.job_deadline` for one job, in seconds. */
const DEADLINE_METADATA = 'brine_deadline';

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
  request: Request,
  load: SaltMap,
): Promise<PublishReply> {
  let asked: PublishRequest;
  try {
    asked = parsePublish(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    return { value: mapOf({ error: cause.message }) };
  }
  const byKey = asked.kwargs?.has('eauth') !== true && asked.kwargs?.has('token') !== true;
  const principal = byKey ? await authenticateKey(ports, load) : undefined;
  if (principal === undefined) return refuse(ports, request, load, AUTHENTICATION);
  if (!principal.full || isBlacklisted(ports, principal, asked)) {
    return refuse(ports, request, load, AUTHORIZATION);
  }
  const expected = await expectedMinions(ports, asked);
  if (expected.minions.length === 0 && !ports.rules.orderMasters) {
    return { value: noMinions(asked.tgt) };
  }
  const jid = await jobId(ports, asked.jid);
  if (jid === undefined) return { value: mapOf({ error: 'Could not allocate a job id' }) };
  // Whoever fixes a jid may publish several times under it: the spans of each are told apart.
  const piece = isJid(asked.jid) ? request.id : undefined;
  const job = jobOf(ports, request, { load, asked, principal, expected, jid, piece });
  const stored = await ports.publications.publish(job);
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

async function refuse(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
  refusal: Refusal,
): Promise<PublishReply> {
  ports.count(`publish_${refusal.name}`);
  const reply = buildErrorReply(refusal.name, refusal.message);
  if (load.has('jid')) {
    // Neither the key nor a password may reach the bus.
    const data = new Map([...load, ...reply]);
    data.delete('key');
    data.delete('kwargs');
    await ports.events.append({
      kind: 'job',
      tag: jobErrorTag(textOf(load, 'jid') ?? ''),
      body: pack(data),
      msgId: `publish-error:${request.id}`,
    });
  }
  return { value: reply };
}

function isBlacklisted(ports: MasterPorts, principal: Principal, asked: PublishRequest): boolean {
  const { users, modules } = ports.rules.publisherAclBlacklist;
  if (users.some((pattern) => matchGlob(pattern, principal.user))) return true;
  return functionsOf(asked).some(
    (fun) => fun !== FIND_JOB && modules.some((pattern) => matchGlob(pattern, fun)),
  );
}

function functionsOf(asked: PublishRequest): readonly string[] {
  return typeof asked.fun === 'string' ? [asked.fun] : asked.fun;
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

interface Prepared {
  readonly load: SaltMap;
  readonly asked: PublishRequest;
  readonly principal: Principal;
  readonly expected: Expected;
  readonly jid: Jid;
  readonly piece: string | undefined;
}

function jobOf(ports: MasterPorts, request: Request, prepared: Prepared): Job {
  const { load, asked, principal, expected, jid, piece } = prepared;
  const publishedAt = ports.now();
  const metadata = asked.kwargs && mapIn(asked.kwargs, 'metadata');
  const deadline = (metadata && intOf(metadata, DEADLINE_METADATA)) ?? ports.rules.jobDeadline;
  const kept = new Map(load).set('jid', jid);
  kept.delete('key');
  return {
    jid,
    publication: pack(publicationOf(ports, prepared)),
    load: pack(kept),
    principal: principal.user,
    user: asked.user ?? '',
    fun: asked.fun,
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    minions: expected.minions,
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

/**
 * The inner load of a publication, without `serial`: that is the publisher's (salt/master.py
 * `_prep_pub`).
 */
function publicationOf(ports: MasterPorts, prepared: Prepared): SaltMap {
  const { asked, jid, piece } = prepared;
  const { fun, arg, tgt, tgtType, ret, user, traceparent } = asked;
  const kwargs = asked.kwargs ?? mapOf({});
  const delimiter = textOf(kwargs, 'delimiter');
  const rest = mapOf({ master_id: textOf(kwargs, 'master_id') ?? ports.rules.masterId });
  if (ports.rules.orderMasters) {
    rest.set('to', asked.to ?? null);
    rest.set('auth_list', listOf(kwargs, 'auth_list') ?? []);
  }
  for (const name of PASSED_ON) {
    const value = kwargs.get(name);
    if (value !== undefined) rest.set(name, value);
  }
  if (boolOf(kwargs, 'start_event') === true) rest.set('start_event', true);
  const own = ports.rules.tracePublications === true;
  const context = own ? traceparentOf(jid, publishingPart('publish', piece)) : traceparent;
  if (context !== undefined) rest.set('traceparent', context);
  return buildPublishedJob({
    fun,
    arg,
    tgt,
    tgtType,
    jid,
    ret,
    rest,
    ...(user === undefined ? {} : { user }),
    ...(delimiter === undefined || delimiter === ':' ? {} : { delimiter }),
  });
}

function noMinions(tgt: string | string[]): SaltMap {
  const shown = typeof tgt === 'string' ? tgt : pyRepr(tgt);
  const error = `Master could not resolve minions for target ${shown}`;
  return mapOf({ enc: 'clear', load: buildPublishReply({ jid: null, minions: [], error }) });
}

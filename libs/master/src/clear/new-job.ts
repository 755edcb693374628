import type { FunctionRule } from '@brine/acl';
import { isJid, type Jid, type Job, publishingPart, traceparentOf } from '@brine/job';
import { durableTtl } from '@brine/job/durable';
import { matchGlob } from '@brine/target';
import {
  boolOf,
  intOf,
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
} from '@brine/wire';
import {
  buildPublishedJob,
  COMMAND_NAME,
  type PublishRequest,
  withoutCredentials,
} from '@brine/wire/load';
import { freeJid } from '../functions/free-jid.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';
import type { Caller } from './caller.ts';
import type { Expected } from './expected-minions.ts';
import { originOf } from './job-origin.ts';
import { REPEATABLE } from './repeatable.ts';
import { EXPECT } from './target-digest.ts';

/** A job that its caller may publish. */
export interface AllowedJob {
  /** The load as received. */
  readonly load: SaltMap;
  readonly asked: PublishRequest;
  readonly caller: Caller;
  /** Rights that a higher master handed down. */
  readonly handed: SaltValue[] | undefined;
  readonly expected: Expected;
  /** Reserved for it already, for a command that may come again. */
  readonly jid?: Jid;
}

/** Always allowed and never listed: a CLI uses it to see whether a job still runs. */
const FIND_JOB = 'saltutil.find_job';

/** Publishes a job that its caller may publish; undefined if no job id was free. */
export async function publishJob(
  ports: MasterPorts,
  request: Request,
  allowed: AllowedJob,
): Promise<Pick<Job, 'jid' | 'minions' | 'missing'> | { readonly refused: string } | undefined> {
  const { jid: asked } = allowed.asked;
  const jid = allowed.jid ?? (isJid(asked) ? asked : await freeJid(ports));
  if (jid === undefined) return undefined;
  const job = await durably(ports, newJob(ports, request, allowed, jid), allowed.asked);
  return 'refused' in job ? job : ports.publications.publish(job, request.readsStore);
}

/** A caller that chooses a jid may publish several jobs under it; each has spans of its own. */
export function pieceOf(request: Request, asked: PublishRequest): string | undefined {
  return isJid(asked.jid) ? request.id : undefined;
}

function newJob(ports: MasterPorts, request: Request, allowed: AllowedJob, jid: Jid): Job {
  const { load, asked, caller, expected } = allowed;
  const publishedAt = ports.now();
  const piece = pieceOf(request, asked);
  const user = userOf(allowed);
  return {
    jid,
    publication: pack(publicationOf(ports, allowed, jid, piece)),
    load: pack(loadToKeep(load, jid, user)),
    principal: caller.principal,
    user: user ?? '',
    fun: asked.fun,
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    minions: answering(ports, expected.minions),
    missing: expected.missing,
    publishedAt,
    deadlineAt: publishedAt + (deadlineOf(asked) ?? ports.rules.jobDeadline) * 1000,
    notAfter: publishedAt + ports.rules.notAfter * 1000,
    hidden: asked.fun === FIND_JOB,
    host: request.gatewayHost,
    requestId: request.id,
    origin: originOf(request, caller),
    ...(piece === undefined ? {} : { piece }),
  };
}

/** A login or token has its own user; with a key the caller names it (ClearFuncs.publish). */
function userOf({ asked, caller }: AllowedJob): string | undefined {
  return caller.kind === 'user' ? asked.user : caller.user;
}

/** A syndic does not return: the minions below it are in lists that it sends. */
function answering({ syndics }: MasterPorts, minions: readonly string[]): readonly string[] {
  const unanswering = syndics.unanswering();
  return unanswering.size === 0 ? minions : minions.filter((id) => !unanswering.has(id));
}

/** Fields of our own commands, which mean nothing to readers. */
export const OF_COMMANDS: readonly string[] = [COMMAND_NAME, REPEATABLE, EXPECT];

/** The load for the store, without key, password or token. */
function loadToKeep(load: SaltMap, jid: Jid, user: string | undefined): SaltMap {
  const kept = withoutCredentials(load).set('jid', jid);
  for (const name of OF_COMMANDS) kept.delete(name);
  return user === undefined ? kept : kept.set('user', user);
}

/** Names of publish kwargs that are copied into the publication (salt/master.py `_prep_pub`). */
const PASSED_ON = ['ret_config', 'ret_kwargs', 'metadata', 'module_executors', 'executor_opts'];

/**
 * The inner load of a publication, without `serial`, which the publisher adds (salt/master.py
 * `_prep_pub`).
 */
function publicationOf(
  ports: MasterPorts,
  allowed: AllowedJob,
  jid: Jid,
  piece: string | undefined,
): SaltMap {
  const { fun, arg, tgt, tgtType, ret, traceparent, to } = allowed.asked;
  const user = userOf(allowed);
  const kwargs = allowed.asked.kwargs ?? mapOf({});
  const delimiter = textOf(kwargs, 'delimiter');
  const rest = mapOf({ master_id: textOf(kwargs, 'master_id') ?? ports.rules.masterId });
  if (ports.rules.orderMasters) {
    // A stock syndic needs a number for `to`, and uses its own timeout if it is absent.
    if (to !== undefined) rest.set('to', to);
    rest.set('auth_list', allowed.handed ?? aclToHandDown(allowed.caller));
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

/** The rights of a caller in the form for lower masters; empty if everything is allowed. */
export function aclToHandDown({ acl }: Pick<Caller, 'acl'>): SaltValue[] {
  return (acl ?? []).map((entry) =>
    entry.kind === 'everywhere'
      ? entry.expression
      : mapOf({ [entry.target]: entry.rules.map(ruleToHandDown) }),
  );
}

function ruleToHandDown(rule: FunctionRule): SaltValue {
  if (rule.arguments === undefined) return rule.fun;
  const limits = rule.arguments.map(({ args, kwargs }) =>
    mapOf({ args: [...args], kwargs: new Map(kwargs) }),
  );
  return mapOf({ [rule.fun]: limits });
}

/** Sets `brine.job_deadline` for one job, in whole seconds. */
const DEADLINE_METADATA = 'brine_deadline';
/** The longest deadline, in seconds: 365 days. Far beyond it a sum would be no valid time. */
const DEADLINE_MAX = 365 * 86_400;

/** The answer to an invalid deadline. */
export const UNFIT_DEADLINE = `${DEADLINE_METADATA} takes whole seconds from 0 to ${DEADLINE_MAX}`;

function deadlineOf({ kwargs }: PublishRequest): number | undefined {
  const metadata = kwargs && mapIn(kwargs, 'metadata');
  return metadata && intOf(metadata, DEADLINE_METADATA);
}

/** True for a valid or absent deadline. An invalid one is refused, as its caller relies on it. */
export function isDeadlineFit(asked: PublishRequest): boolean {
  const metadata = asked.kwargs && mapIn(asked.kwargs, 'metadata');
  if ((metadata?.get(DEADLINE_METADATA) ?? undefined) === undefined) return true;
  const seconds = deadlineOf(asked);
  return seconds !== undefined && seconds >= 0 && seconds <= DEADLINE_MAX;
}

/** `--metadata`: a durable job, for seconds or `90s`, `15m`, `12h`, `2d`; 0: not durable. */
const DURABLE_METADATA = 'brine_durable';
/** Size limit, because each repetition goes to every minion: 1 MiB. */
const PUBLICATION_MAX_BYTES = 1_048_576;
/** Limit of minions: a pass over all of them takes 100 ms per thousand, 25 s. */
const TARGETS_MAX = 250_000;
/** Limits of open durable jobs, and of the minions that they wait for together. */
const OPEN_MAX = 200;
const WAITING_MAX = 1_000_000;

/** A publish is answered within 3 s in any outage. */
const CHECK_MS = 1_000;

/**
 * Adds the times of a durable job, if it is to be one. A refusal if its caller asked for that and
 * can not have it. If only the configuration asks for it, the job is published as an ordinary one.
 */
async function durably(
  ports: MasterPorts,
  job: Job,
  asked: PublishRequest,
): Promise<Job | { readonly refused: string }> {
  if (job.hidden) return job;
  const wish = durableWish(ports, asked, asked.kwargs && mapIn(asked.kwargs, 'metadata'));
  if ('refused' in wish) return wish;
  if (wish.ttl === undefined) return job;
  const size = { bytes: job.publication.length, targets: job.minions.length };
  const refused = await durableRefusal(ports, size);
  if (refused !== undefined) {
    ports.count('durable_refused');
    return wish.explicit ? { refused } : job;
  }
  // A minion that receives it in the last second has as long to return as the others.
  const deadlineAt = job.deadlineAt + wish.ttl * 1000;
  return { ...job, durable: true, deadlineAt, notAfter: job.publishedAt + wish.ttl * 1000 };
}

/** Seconds for which a job stays open for unreachable minions, or why that is impossible. */
type DurableWish = ({ readonly ttl: number | undefined } | { readonly refused: string }) & {
  /** True if the caller asked for it; false for `brine.durable_functions`. */
  readonly explicit: boolean;
};

/** An invalid wish is refused rather than ignored, as its caller relies on it. */
function durableWish(
  ports: MasterPorts,
  asked: PublishRequest,
  metadata: SaltMap | undefined,
): DurableWish {
  const wish = metadata?.get(DURABLE_METADATA);
  if (wish !== undefined && wish !== null) {
    if (wish === 0 || wish === '0') return { ttl: undefined, explicit: true };
    const ttl = durableTtl(wish);
    if (ttl !== undefined) return { ttl, explicit: true };
    const refused = 'durable takes seconds or a text as 90s, 15m, 12h, 2d, up to 30d';
    return { refused, explicit: true };
  }
  const { durableFunctions = [] } = ports.rules;
  const ttls = [asked.fun].flat().map((fun) => {
    const [, ttl] = durableFunctions.find(([glob]) => matchGlob(glob, fun)) ?? [];
    return ttl;
  });
  // Every function of the job must be listed.
  const all = ttls.every((ttl) => ttl !== undefined) && ttls.length > 0;
  return { ttl: all ? Math.min(...ttls) : undefined, explicit: false };
}

/** Why a durable job of this size can not be opened now; undefined if it can. */
async function durableRefusal(
  ports: MasterPorts,
  size: { readonly bytes: number; readonly targets: number },
): Promise<string | undefined> {
  if (size.bytes > PUBLICATION_MAX_BYTES) {
    return `a durable job takes at most ${PUBLICATION_MAX_BYTES} bytes of arguments`;
  }
  if (size.targets > TARGETS_MAX) return `a durable job takes at most ${TARGETS_MAX} minions`;
  let counts: SaltValue;
  try {
    counts = await ports.jobs.ask('durable_open', new Map(), CHECK_MS);
  } catch {
    // The job may not wait for an unreachable store; the store counts it when it is back.
    ports.count('durable_unchecked');
    return undefined;
  }
  const open = isMap(counts) ? (intOf(counts, 'open') ?? 0) : 0;
  const waiting = isMap(counts) ? (intOf(counts, 'waiting') ?? 0) : 0;
  if (open >= OPEN_MAX) return `${OPEN_MAX} durable jobs are open; see jobs.active`;
  return waiting + size.targets > WAITING_MAX
    ? `durable jobs wait for ${waiting} minions already; see jobs.active`
    : undefined;
}

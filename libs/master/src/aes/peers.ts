import { setTimeout as sleep } from 'node:timers/promises';
import { readAcl } from '@brine/acl';
import { isJid } from '@brine/job';
import { expandNodegroup, matchPcre, type Target, withoutNodegroups } from '@brine/target';
import {
  isMap,
  listOf,
  mapIn,
  mapOf,
  type SaltMap,
  type SaltValue,
  textOf,
  WireError,
} from '@brine/wire';
import { parsePublish, type PublishRequest } from '@brine/wire/load';
import { recordPeer } from '../audit-records.ts';
import { type Caller, MINION_PREFIX } from '../clear/caller.ts';
import { expectedWithin } from '../clear/expected-minions.ts';
import { type AllowedJob, publishJob } from '../clear/new-job.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';

/*
 * Jobs that minions publish (salt/master.py AESFuncs `minion_pub`, `minion_publish`, `pub_ret`);
 * protocol.md 5.
 */

/** Poll interval of a blocking publish. */
const LOOK_MS = 250;
/** Longest wait of a blocking publish, the limit of the gateway. */
const WAIT_MAX_MS = 20_000;
const WAIT_DEFAULT_S = 5;

/** Functions that need no right, for minions: none. */
const NEVER: ReadonlySet<string> = new Set();

/** A request of a minion to other minions or the master. */
export type PeerCommand = (
  ports: MasterPorts,
  request: Request,
  minion: string,
  load: SaltMap,
) => Promise<SaltValue>;

/** `minion_pub`: publishes; answers with the job's id and the expected minions. */
export const minionPub: PeerCommand = async (ports, request, minion, load) => {
  const published = await publishForPeer(ports, request, minion, load);
  if (published === undefined) return new Map();
  return mapOf({ jid: published.jid, minions: [...published.minions] });
};

/** `minion_publish`: as `minion_pub`, but waits for returns and answers with them. */
export const minionPublish: PeerCommand = async (ports, request, minion, load) => {
  const published = await publishForPeer(ports, request, minion, load);
  if (published === undefined) return new Map();
  const seconds = Number(load.get('timeout') ?? load.get('tmo') ?? WAIT_DEFAULT_S);
  const until =
    ports.now() + Math.min((Number.isFinite(seconds) ? seconds : 0) * 1000, WAIT_MAX_MS);
  let returns = await returnsOf(ports, published.jid, published.minions);
  while (returns.size < published.minions.length && ports.now() < until) {
    await sleep(LOOK_MS);
    returns = await returnsOf(ports, published.jid, published.minions);
  }
  if (textOf(load, 'form') === 'full') {
    return new Map<SaltValue, SaltValue>([...returns, ['__jid__', published.jid]]);
  }
  return new Map(
    [...returns].map(([id, kept]) => [id, isMap(kept) ? (kept.get('ret') ?? null) : null]),
  );
};

/** `pub_ret`: the returns of a job that this very minion published. */
export const publishedReturns: PeerCommand = async (ports, _request, minion, load) => {
  const jid = textOf(load, 'jid');
  if (jid === undefined || !isJid(jid)) return new Map();
  const job = await ports.jobs.ask('job', mapOf({ jid }));
  if (!isMap(job) || job.get('principal') !== `${MINION_PREFIX}${minion}`) {
    ports.count('peer_return_refused');
    return new Map();
  }
  return returnsOf(ports, jid, listOf(job, 'minions') ?? []);
};

/** The rights of all entries whose expression matches the minion's id (`peer`, `peer_run`). */
export function rightsOf(
  rights: Readonly<Record<string, readonly SaltValue[]>> | undefined,
  minion: string,
): readonly SaltValue[] {
  return Object.entries(rights ?? {}).flatMap(([ids, kept]) =>
    matchPcre(ids, minion) ? kept : [],
  );
}

/** A minion as the caller of its runners: `peer` limits its publishes, `peer_run` its runners. */
export function minionCaller({ rules }: MasterPorts, principal: string): Caller {
  const minion = principal.slice(MINION_PREFIX.length);
  const runners = rightsOf(rules.peerRun, minion).filter((fun) => typeof fun === 'string');
  const acl = [
    ...readAcl(rightsOf(rules.peer, minion)),
    ...readAcl([mapOf({ '@runner': runners })]),
  ];
  return { kind: 'minion', user: principal, principal, acl };
}

async function publishForPeer(ports: MasterPorts, request: Request, minion: string, load: SaltMap) {
  const job = await allowedJob(ports, minion, load);
  if (job === undefined) {
    ports.count('peer_publish_refused');
    recordPeer(ports, request, { kind: 'publish', outcome: 'refused', minion, load });
    return undefined;
  }
  if (job.expected.minions.length === 0) return undefined;
  ports.count('peer_publish');
  const published = await publishJob(ports, request, job);
  const done = published === undefined || 'refused' in published ? undefined : published;
  const outcome = done === undefined ? 'error' : 'done';
  recordPeer(ports, request, { kind: 'publish', outcome, minion, load, published: done });
  return done;
}

/** The job, if the minion may publish it. Rights come first, because a target costs work. */
async function allowedJob(
  ports: MasterPorts,
  minion: string,
  load: SaltMap,
): Promise<AllowedJob | undefined> {
  const acl = readAcl(rightsOf(ports.rules.peer, minion));
  if (acl.length === 0) return undefined;
  const { fun, arg } = callOf(ports, load);
  const target = targetOf(ports, load);
  if (fun === undefined || target === undefined || !load.has('ret')) return undefined;
  // Minions that make others publish could cause an infinite loop.
  if ([fun].flat().some((one) => one.startsWith('publish.'))) return undefined;
  const publish = mapOf({
    cmd: 'publish',
    fun: typeof fun === 'string' ? fun : [...fun],
    arg: [...arg],
    tgt: target.tgt as SaltValue,
    tgt_type: target.tgtType,
    ret: load.get('ret'),
    jid: '',
    id: minion,
    user: ports.rules.user,
    kwargs: mapOf({ id: minion }),
  });
  const asked = parsed(publish);
  if (asked === undefined) return undefined;
  // Judged as the minion wrote it: limits on the names in a target apply to that.
  const expected = await expectedWithin(ports, acl, asked, NEVER);
  if (expected === undefined) return undefined;
  const sent = withoutGroups(ports, asked);
  if (sent === undefined) return undefined;
  publish.set('tgt', sent.tgt);
  const principal = `${MINION_PREFIX}${minion}`;
  const caller = { kind: 'user', user: principal, principal, acl: undefined } as const;
  return { load: publish, asked: sent, caller, handed: undefined, expected };
}

/**
 * The publish with the master's nodegroups expanded in a compound target; undefined if one is not
 * configured.
 */
function withoutGroups({ rules }: MasterPorts, asked: PublishRequest): PublishRequest | undefined {
  const { tgt, tgtType } = asked;
  if (tgtType !== 'compound') return asked;
  const words = typeof tgt === 'string' ? tgt.split(/\s+/).filter((word) => word !== '') : tgt;
  const expanded = withoutNodegroups(words, rules.nodegroups);
  return expanded && { ...asked, tgt: expanded.join(' ') };
}

function parsed(job: SaltMap): PublishRequest | undefined {
  try {
    return parsePublish(job);
  } catch (cause) {
    if (cause instanceof WireError) return undefined;
    throw cause;
  }
}

/**
 * Functions and arguments, in the forms for publishing and for judging. If one text names several
 * functions, each has its arguments in one text.
 */
function callOf(
  ports: MasterPorts,
  load: SaltMap,
): {
  readonly fun: string | readonly string[] | undefined;
  readonly arg: readonly SaltValue[];
} {
  const fun = textOf(load, 'fun');
  const arg = load.get('arg');
  if (fun === undefined || !Array.isArray(arg)) return { fun: undefined, arg: [] };
  const noParse = load.get('no_parse');
  const parse = (words: readonly SaltValue[]): SaltValue[] =>
    ports.parseArguments(words, Array.isArray(noParse) ? noParse : []);
  if (!fun.includes(',')) return { fun, arg: parse(arg) };
  return {
    fun: fun.split(','),
    arg: arg.map((text) =>
      parse(typeof text === 'string' ? text.split(/\s+/).filter(Boolean) : []),
    ),
  };
}

/** The target with its nodegroup expanded, because minions do not know the master's nodegroups. */
function targetOf(
  ports: MasterPorts,
  load: SaltMap,
): Required<Omit<Target, 'delimiter'>> | undefined {
  const tgt = load.get('tgt');
  const tgtType = textOf(load, 'tgt_type') ?? textOf(load, 'expr_form') ?? 'glob';
  if (tgt === undefined) return undefined;
  if (!tgtType.startsWith('node')) return { tgt, tgtType };
  const { nodegroups } = ports.rules;
  if (typeof tgt !== 'string' || !Object.hasOwn(nodegroups, tgt)) return undefined;
  return { tgt: expandNodegroup(tgt, nodegroups), tgtType: 'compound' };
}

/**
 * Returns of a job, by minion: `ret` and `out` (salt/client `get_cache_returns`). Only from the
 * minions of the job, since others may return to any job. Minions of lower masters are not known
 * here.
 */
async function returnsOf(
  ports: MasterPorts,
  jid: string,
  minions: readonly SaltValue[],
): Promise<SaltMap> {
  const found: SaltMap = new Map();
  const expected = new Set(minions);
  let after: string | undefined;
  do {
    const page: SaltValue = await ports.jobs.ask('get_jid', mapOf({ jid, after }));
    if (!isMap(page)) return found;
    for (const [id, kept] of mapIn(page, 'returns') ?? []) {
      if (!isMap(kept) || !(ports.rules.orderMasters || expected.has(id))) continue;
      found.set(id, mapOf({ ret: kept.get('return') ?? null, out: kept.get('out') }));
    }
    after = textOf(page, 'next');
  } while (after !== undefined);
  return found;
}

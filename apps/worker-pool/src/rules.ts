import type { ConfigValue, MasterOptions } from '@brine/config';
import type { MasterOptsReply, MasterRules } from '@brine/master';
import { durableTtl } from '@brine/job';
import { userInfo } from 'node:os';
import { accessRules } from './logins.ts';

/**
 * Keys that may wait for a decision. Anybody who reaches 4506 can offer keys, so the store of
 * undecided ones is bounded; an operator of 100,000 minions can still roll out half of them at
 * once.
 */
const PENDING_KEYS_MAX = 50_000;

/** Turns the master's options into the rules that the answers follow. */
export function masterRules(options: MasterOptions): MasterRules {
  return {
    minimumAuthVersion: options.minimumAuthVersion,
    requestServerTtl: options.requestServerTtl,
    autoAccept: options.autoAccept,
    openMode: options.openMode,
    maxMinions: options.maxMinions,
    maxPendingKeys: PENDING_KEYS_MAX,
    allowMinionKeyRevoke: options.allowMinionKeyRevoke,
    rotateAesKey: options.rotateAesKey,
    preserveMinionCache: options.preserveMinionCache,
    publishPort: options.publishPort,
    authEvents: options.authEvents,
    minionDataCache: options.minionDataCache,
    minionDataCacheEvents: options.minionDataCacheEvents,
    orderMasters: options.orderMasters,
    // Only a configured `master_id` goes into publications; Salt has no default for it.
    masterId: undefined,
    user: options.user,
    runningUser: userInfo().username,
    nodegroups: nodegroupsOf(options.nodegroups),
    cachelessTargets: options.brine.cachelessTargets,
    jobDeadline: options.brine.jobDeadline,
    notAfter: options.brine.notAfter,
    durableFunctions: durableFunctionsOf(options.brine.durableFunctions),
    tracePublications: options.brine.trace.publications,
    publisherAclBlacklist: {
      users: textsOf(options.publisherAclBlacklist['users']),
      modules: textsOf(options.publisherAclBlacklist['modules']),
    },
    access: accessRules(options),
    masterOpts: masterOptsReply(options),
  };
}

/** An unreadable time is told at the start, where somebody reads it, not at a publish. */
function durableFunctionsOf(
  configured: Readonly<Record<string, ConfigValue>>,
): (readonly [string, number])[] {
  return Object.entries(configured).map(([glob, value]) => {
    const ttl = durableTtl(value);
    if (ttl === undefined) {
      throw new Error(`brine.durable_functions: ${glob} takes seconds or 90s, 15m, 12h, 2d`);
    }
    return [glob, ttl];
  });
}

function masterOptsReply(options: MasterOptions): MasterOptsReply {
  return {
    fileRoots: Object.fromEntries(
      Object.entries(options.fileRoots).map(([env, roots]) => [env, textsOf(roots)]),
    ),
    // Where the master has no such option yet, Salt's default (salt/config DEFAULT_MASTER_OPTS).
    topFileMergingStrategy: 'merge',
    envOrder: [],
    defaultTop: 'base',
    renderer: options.renderer,
    failhard: options.failhard,
    stateTop: options.stateTop,
    stateTopSaltenv: null,
    nodegroups: nodegroupsOf(options.nodegroups),
    stateAutoOrder: true,
    stateEvents: options.stateEvents,
    stateAggregate: false,
    jinjaEnv: new Map(),
    jinjaSlsEnv: new Map(),
    jinjaLstripBlocks: false,
    jinjaTrimBlocks: false,
  };
}

function nodegroupsOf(
  configured: Readonly<Record<string, ConfigValue>>,
): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(configured).map(([name, words]) => [
      name,
      typeof words === 'string' ? words : textsOf(words),
    ]),
  );
}

function textsOf(value: ConfigValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) return [];
  return value.filter((entry) => typeof entry === 'string');
}

import { userInfo } from 'node:os';
import {
  type ConfigMap,
  type ConfigValue,
  type MasterOptions,
  nodegroupsOf,
  saltValue,
  textsOf,
} from '@brine/config';
import { durableTtl } from '@brine/job/durable';
import type { MasterOptsReply, MasterRules } from '@brine/master';
import type { SaltValue } from '@brine/wire';
import { accessRules } from './logins/logins.ts';

/**
 * Limit of undecided keys. Every peer that reaches 4506 can offer keys, so their store is bounded.
 * With 100,000 minions an operator can still roll out half of them at once.
 */
const PENDING_KEYS_MAX = 50_000;

/** Turns the master's options into the rules of the answers. */
export function masterRules(options: MasterOptions): MasterRules {
  return {
    minimumAuthVersion: options.minimumAuthVersion,
    requestServerTtl: options.requestServerTtl,
    autoAccept: options.autoAccept,
    openMode: options.openMode,
    maxMinions: options.maxMinions,
    maxPendingKeys: PENDING_KEYS_MAX,
    minionIdSigns: options.brine.minionIdSigns,
    allowMinionKeyRevoke: options.allowMinionKeyRevoke,
    rotateAesKey: options.rotateAesKey,
    preserveMinionCache: options.preserveMinionCache,
    requireMinionSignMessages: options.requireMinionSignMessages,
    dropMessagesSignatureFail: options.dropMessagesSignatureFail,
    publishPort: options.publishPort,
    authEvents: options.authEvents,
    authEventsAutosignGrains: options.authEventsAutosignGrains,
    minionDataCache: options.minionDataCache,
    minionDataCacheEvents: options.minionDataCacheEvents,
    orderMasters: options.orderMasters,
    syndics: options.brine.syndics,
    minionEvents: options.brine.minionEvents,
    masterId: options.jobMasterId,
    masterMinionId: options.masterId,
    innerCalls: options.brine.innerCalls,
    runnerReturns: options.runnerReturns,
    user: options.user,
    runningUser: userInfo().username,
    nodegroups: nodegroupsOf(options.nodegroups),
    cachelessTargets: options.brine.cachelessTargets,
    jobDeadline: options.brine.jobDeadline,
    notAfter: options.brine.notAfter,
    durableFunctions: durableFunctionsOf(options.brine.durableFunctions),
    tracePublications: options.brine.tracePublications,
    publisherAclBlacklist: {
      users: textsOf(options.publisherAclBlacklist['users']),
      modules: textsOf(options.publisherAclBlacklist['modules']),
    },
    access: accessRules(options),
    ...(options.fileRecv ? { fileRecv: { maxMegabytes: options.fileRecvMaxSize } } : {}),
    peer: rightsOf(options.peer),
    peerRun: rightsOf(options.peerRun),
    enforceMineCache: options.enforceMineCache,
    ...mineGetOf(options.mineGet),
    masterOpts: masterOptsReply(options),
  };
}

/** Reads times at startup, so that an invalid time fails there and not at a publish. */
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

/**
 * Rights by expressions of minion ids; a value that is no list gives none
 * (salt/daemons/masterapi.py).
 */
function rightsOf(option: ConfigMap): Record<string, readonly SaltValue[]> {
  return Object.fromEntries(
    Object.entries(option).flatMap(([ids, rights]) => {
      const list = saltValue(rights);
      return Array.isArray(list) ? [[ids, list]] : [];
    }),
  );
}

/** Without the option any minion may request anything; a value that is no map allows nothing. */
function mineGetOf(option: ConfigValue): Pick<MasterRules, 'mineGet'> {
  if (option === null) return {};
  if (typeof option !== 'object' || Array.isArray(option) || option instanceof Uint8Array) {
    return { mineGet: {} };
  }
  const lists = Object.entries(option).filter(([, funs]) => Array.isArray(funs));
  return { mineGet: Object.fromEntries(lists.map(([ids, funs]) => [ids, textsOf(funs)])) };
}

function masterOptsReply(options: MasterOptions): MasterOptsReply {
  return {
    topFileMergingStrategy: options.topFileMergingStrategy,
    envOrder: options.envOrder,
    defaultTop: options.defaultTop,
    renderer: options.renderer,
    failhard: options.failhard,
    stateTop: options.stateTop,
    stateTopSaltenv: options.stateTopSaltenv ?? null,
    nodegroups: nodegroupsOf(options.nodegroups),
    stateAutoOrder: options.stateAutoOrder,
    stateEvents: options.stateEvents,
    stateAggregate: saltValue(options.stateAggregate),
    jinjaEnv: saltValue(options.jinjaEnv),
    jinjaSlsEnv: saltValue(options.jinjaSlsEnv),
    jinjaLstripBlocks: options.jinjaLstripBlocks,
    jinjaTrimBlocks: options.jinjaTrimBlocks,
  };
}

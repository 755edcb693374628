import { createHash } from 'node:crypto';
import { isJid } from '@brine/job';
import { errorText } from '@brine/tasks';
import { isMap, mapOf, pack, type SaltMap, textOf, WireError } from '@brine/wire';
import {
  buildErrorReply,
  parsePublish,
  type PublishRequest,
  withoutCredentials,
} from '@brine/wire/load';
import { MasterUnavailableError } from '../errors.ts';
import type { BatchOrder, KnownBatch, MasterPorts } from '../ports/ports.ts';
import {
  authenticate,
  type Caller,
  type ClearRequest,
  isStranger,
  notAllowed,
  refusalOf,
} from './caller.ts';
import { originOf } from './job-origin.ts';
import { keptCaller } from './kept-caller.ts';
import { judgePublish } from './publish.ts';
import { beginCommand, knownCommand, REPEATABLE, repeatableIn } from './repeatable.ts';
import { changedTarget, EXPECT, targetDigest } from './target-digest.ts';

/** The function that finds the minions of a batch (salt/cli/batch.py gather_minions). */
const PING = 'test.ping';

/** Length limit of the list in an answer; a command line shows no more. */
const RESOLVED_MAX = 1_000_000;

/**
 * Brine's own clear command `brine_batch`: a publish whose command runs on some minions at a time,
 * in the workers. Authenticated as a publish is. With `follow` it returns the state of a batch of
 * this caller. Answers `{jid}`, `{matched: false}` if no minion matches, `{state}`, or an error.
 */
export async function batch(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const judged = await knownPublish(ports, request, load);
  if (judged instanceof Map) return judged;
  const { asked, caller } = judged;
  const follow = textOf(load, 'follow');
  if (follow !== undefined) return howItStands(ports, caller, follow);
  const settings = load.get('batch');
  if (!isMap(settings)) return unfit('batch must be formatted as a dictionary');
  const command = repeatableIn(load, caller);
  if (command instanceof Map) return command;
  const known = command && (await knownCommand(ports, command));
  if (known instanceof Map) return known;
  // Both are judged for the whole target: a batch that ends half way helps no one.
  for (const fun of [PING, asked.fun]) {
    const arg = fun === PING ? [] : asked.arg;
    const expected = await judgePublish(ports, { load, caller, asked: { ...asked, fun, arg } });
    if (expected instanceof Map) return expected;
    if (expected.minions.length === 0 && !ports.rules.orderMasters)
      return mapOf({ matched: false });
    const changed =
      known === undefined && fun === asked.fun && changedTarget(load, expected.minions);
    if (changed instanceof Map) return changed;
  }
  const begun = known ?? (command && (await beginCommand(ports, command)));
  if (begun instanceof Map) return begun;
  const jid = begun?.jid ?? (isJid(asked.jid) ? asked.jid : ports.nextJid());
  const order: BatchOrder = {
    jid,
    principal: caller.principal,
    command: digestOf(asked),
    caller: keptCaller(caller),
    settings,
    host: request.gatewayHost,
    origin: originOf(request, caller),
    load: withoutSecrets(load, jid),
  };
  try {
    const there = await ports.functions.batch(jid);
    // The same command, sent again because its answer was lost.
    if (there !== undefined) {
      return isSame(there, order) ? mapOf({ jid }) : unfit(`${jid} is another batch`);
    }
    await ports.functions.beginBatch(order);
    return mapOf({ jid });
  } catch (cause) {
    // Another copy of the same order was first.
    if (await hasBegun(ports, order)) return mapOf({ jid });
    ports.count('batch_refused');
    if (cause instanceof MasterUnavailableError) {
      return mapOf({ error: `The batch could not begin: ${cause.message}` });
    }
    return unfit(errorText(cause));
  }
}

/**
 * Brine's own clear command `brine_resolve`: the minions that a publish would be expected to reach,
 * `{minions, count, digest}`. Authenticated and judged as that publish. `sample` is a number: the
 * answer has this many of them at most, the first by id, and as many `missing` ids, which are those
 * of a list that no minion has.
 */
export async function resolve(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const known = await knownPublish(ports, request, load);
  if (known instanceof Map) return known;
  const judged = await judgePublish(ports, { load, ...known });
  if (judged instanceof Map) return judged;
  const { minions, missing } = judged;
  const most = load.get('sample');
  const isSample = typeof most === 'number';
  const shown = isSample ? firstOf(minions, most) : minions;
  return mapOf({
    minions: shown.slice(0, RESOLVED_MAX),
    count: minions.length,
    digest: targetDigest(minions),
    ...(isSample ? { missing: [...firstOf(missing, most)] } : {}),
  });
}

function firstOf(ids: readonly string[], most: number): readonly string[] {
  return [...ids].sort().slice(0, Math.min(most, RESOLVED_MAX));
}

/** The caller of a load that is formed as a publish, or the error for it. */
async function knownPublish(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<{ readonly asked: PublishRequest; readonly caller: Caller } | SaltMap> {
  let asked: PublishRequest;
  try {
    asked = parsePublish(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    return mapOf({ error: cause.message });
  }
  const caller = await authenticate(ports, request, load, asked.kwargs);
  // The error of a publish.
  return isStranger(caller)
    ? buildErrorReply('AuthenticationError', 'Authentication error occurred.')
    : { asked, caller };
}

/**
 * A digest of the function and the target; not of the settings, which another process may fill in.
 */
function digestOf({ tgt, tgtType, fun, arg }: PublishRequest): string {
  return createHash('sha256')
    .update(pack([tgt, tgtType, fun, arg]))
    .digest('base64url');
}

function isSame(known: KnownBatch, { principal, command }: BatchOrder): boolean {
  const isOfCommand = known.command === '' || known.command === command;
  return known.principal === principal && isOfCommand;
}

/** True if a batch of this order exists. */
async function hasBegun(ports: MasterPorts, order: BatchOrder): Promise<boolean> {
  try {
    const known = await ports.functions.batch(order.jid);
    return known !== undefined && isSame(known, order);
  } catch {
    // Unknown; the caller gets the reason why the batch could not begin.
    return false;
  }
}

async function howItStands(ports: MasterPorts, caller: Caller, jid: string): Promise<SaltMap> {
  let found: Awaited<ReturnType<typeof ports.functions.batch>>;
  try {
    found = isJid(jid) ? await ports.functions.batch(jid) : undefined;
  } catch (cause) {
    if (!(cause instanceof MasterUnavailableError)) throw cause;
    return buildErrorReply(
      'SaltReqTimeoutError',
      `The batch can not be looked up: ${cause.message}`,
    );
  }
  if (found === undefined) return mapOf({ state: null });
  if (caller.acl !== undefined && caller.principal !== found.principal) {
    return refusalOf(notAllowed(caller));
  }
  return mapOf({ state: found.state });
}

/** Fields of the order alone, and not of the publishes that it leads to. */
const OF_ORDER = ['cmd', 'batch', 'traceparent', 'tracestate', REPEATABLE, EXPECT];

function withoutSecrets(load: SaltMap, jid: string): SaltMap {
  const kept = withoutCredentials(load).set('jid', jid);
  for (const name of OF_ORDER) kept.delete(name);
  return kept;
}

function unfit(text: string): SaltMap {
  return buildErrorReply('SaltInvocationError', text);
}

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BatchStep,
  type Command,
  type JobReturn,
  NO_MATCH,
  type PublishedCommand,
  resumeBatch,
  runBatch,
  subsetOf,
} from '@brine/client';
import { freeJid } from '@brine/master/functions';
import type { StateCall } from '@brine/states';
import {
  boolOf,
  intOf,
  isMap,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
} from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { allReturns, runOnMinions } from '../minions/run-on-minions.ts';
import {
  BEHIND_MAX_MS,
  KNOWN_WITHIN_MS,
  pythonError,
  type StateWorld,
  unlessAway,
  unlessCutOff,
} from './world.ts';

/** A function that a step runs on minions. */
export interface MinionJob {
  readonly tgt: SaltValue;
  readonly tgtType: string;
  readonly fun: string;
  readonly arg: readonly SaltValue[];
  readonly kwarg: SaltMap;
  /** Returners, comma separated. */
  readonly ret: string;
  /** Seconds; null for the master's `timeout`. */
  readonly timeout: SaltValue;
  readonly batch: string | undefined;
  readonly subset: SaltValue | undefined;
  readonly failhard: boolean;
  /** Treats minions without a return as failed, like those that the master does not know. */
  readonly expectMinions: boolean;
  /** `ret_config` and `ret_kwargs`. */
  readonly kwargs: SaltMap;
}

/** The return of a minion; empty without one. */
export interface MinionAnswer {
  readonly ret?: SaltValue;
  readonly out?: string;
  readonly retcode?: SaltValue;
  readonly jid?: string;
  readonly failed?: true;
}

/** Longest `timeout` of a step, s: a day. */
const TIMEOUT_MAX_S = 86_400;

/** The stream detects a duplicate publish for two minutes. */
const KNOWN_TWICE_MS = 100_000;
const LOOK_MS = 1_000;

/**
 * Runs a function on minions and gathers their returns, in the order of arrival (Salt:
 * salt/modules/saltutil.py cmd). After a takeover it gathers the returns of the job that the other
 * process published, and publishes nothing twice.
 * @throws RefusedError RunCutOffError, Error for returns that can not be found after a takeover
 */
export async function runMinionJob(
  world: StateWorld,
  job: MinionJob,
  call: StateCall,
): Promise<Map<string, MinionAnswer>> {
  if (job.batch !== undefined) return runInBatches(world, job, call, job.batch);
  const { earlier } = call;
  const kept = earlier?.get('tgt');
  const chosen = kept === undefined ? await chosenTarget(world, job) : listOfTexts(kept);
  const command: Command = {
    ...commandOf(job),
    tgt: chosen ?? targetOf(job.tgt),
    tgtType: chosen === undefined ? job.tgtType : 'list',
  };
  const jid = earlier === undefined ? undefined : textOf(earlier, 'jid');
  if (earlier !== undefined && jid !== undefined) {
    return goneOnWith(new SentJob(world, job, command, { jid, note: earlier, call }));
  }
  if (!world.isOwned) {
    const returns = runOnMinions(world.context.client, command, timeoutOf(job.timeout));
    return answersOf(world, await unlessCutOff(returns, world.cutOff), job.expectMinions);
  }
  const own = await newJid(world);
  const tgt = chosen === undefined ? undefined : [...chosen];
  const note = mapOf({ jid: own, at: Math.floor(world.master.now()), tgt });
  await call.note(note);
  const returns = new SentJob(world, job, command, { jid: own, note, call }).gathered();
  return answersOf(world, await unlessCutOff(returns, world.cutOff), job.expectMinions);
}

/** The job of a step in a resumable run, published under one id so that it is one job. */
class SentJob {
  readonly world: StateWorld;
  readonly job: MinionJob;
  readonly jid: string;
  readonly #command: Command;
  readonly #call: StateCall;
  #note: SaltMap;

  constructor(
    world: StateWorld,
    job: MinionJob,
    command: Command,
    { jid, note, call }: { readonly jid: string; readonly note: SaltMap; readonly call: StateCall },
  ) {
    this.world = world;
    this.job = job;
    this.jid = jid;
    this.#note = note;
    this.#call = call;
    this.#command = { ...command, jid, requestId: requestIdOf(jid, command) };
  }

  /** True if the master has answered the publish. */
  get isSent(): boolean {
    return boolOf(this.#note, 'sent') === true;
  }

  /** Time of its first publish, unix ms. */
  get atMs(): number {
    return intOf(this.#note, 'at') ?? 0;
  }

  /** Publishes it; undefined if no minion matches. */
  async publish(options: { readonly listen?: true } = {}): Promise<PublishedCommand | undefined> {
    const published = await this.world.context.client.publish(this.#command, options);
    if (published === undefined) return undefined;
    this.#note = new Map(this.#note).set('sent', true);
    await this.#call.note(this.#note);
    return published;
  }

  /** Publishes it and gathers the returns. */
  async gathered(): Promise<readonly JobReturn[] | undefined> {
    const published = await this.publish({ listen: true });
    if (published === undefined) return undefined;
    const timeoutMs = timeoutOf(this.job.timeout);
    const wait = timeoutMs === undefined ? {} : { timeoutMs };
    return allReturns(this.world.context.client, published, wait);
  }
}

/** The same for a repetition of the step, and another one for anything else under the job id. */
function requestIdOf(jid: string, { fun, arg, tgt, tgtType }: Command): string {
  const meant = pack([[fun].flat(), [...arg], [tgt].flat(), tgtType]);
  return `step-${jid}-${createHash('sha256').update(meant).digest('hex').slice(0, 24)}`;
}

function commandOf(job: MinionJob): Pick<Command, 'fun' | 'arg' | 'ret' | 'kwargs'> {
  const { fun, arg, kwarg, ret, kwargs } = job;
  // A number that looks like a job id is one (Salt: condition_input).
  const args = arg.map((one) =>
    typeof one === 'bigint' && /^\d{20}$/.test(String(one)) ? String(one) : one,
  );
  if (kwarg.size > 0) args.push(new Map([['__kwarg__', true], ...kwarg]));
  return { fun, arg: args, ret, ...(kwargs.size > 0 ? { kwargs } : {}) };
}

function targetOf(tgt: SaltValue): string | readonly string[] {
  return Array.isArray(tgt) ? tgt.map(pyStr) : pyStr(tgt);
}

function listOfTexts(value: SaltValue): readonly string[] {
  return Array.isArray(value) ? value.map(pyStr) : [];
}

function timeoutOf(timeout: SaltValue): number | undefined {
  const seconds = Number(timeout ?? 0);
  return seconds > 0 ? Math.min(seconds, TIMEOUT_MAX_S) * 1000 : undefined;
}

/** A job id that no other job has, chosen before the publish so that it can be saved. */
async function newJid({ master }: StateWorld): Promise<string> {
  const jid = await freeJid(master);
  if (jid === undefined) throw new Error('Could not allocate a job id');
  return jid;
}

/** The random part of a target for `subset`; undefined: the whole target. */
async function chosenTarget(
  { context }: StateWorld,
  job: MinionJob,
): Promise<readonly string[] | undefined> {
  if (!isTruthy(job.subset)) return undefined;
  const listed = await runOnMinions(context.client, {
    tgt: targetOf(job.tgt),
    tgtType: job.tgtType,
    fun: 'sys.list_functions',
    arg: [],
    isOwn: true,
  });
  const functions = (listed ?? []).flatMap((item) =>
    item.kind === 'return' ? [[item.id, item.ret] as const] : [],
  );
  const size = Number(job.subset);
  return subsetOf(new Map(functions), job.fun, Number.isFinite(size) ? size : Infinity);
}

function answersOf(
  { context }: StateWorld,
  returns: readonly JobReturn[] | undefined,
  expect: boolean,
): Map<string, MinionAnswer> {
  const answers = new Map<string, MinionAnswer>();
  if (returns === undefined) context.out(NO_MATCH);
  for (const item of returns ?? []) {
    if (item.kind === 'return') {
      const { ret, out, retcode, jid } = item;
      answers.set(item.id, {
        ret,
        ...(out === undefined ? {} : { out }),
        ...(retcode === undefined ? {} : { retcode }),
        ...(jid === undefined ? {} : { jid }),
      });
    } else if (expect || item.unknown === true) answers.set(item.id, { failed: true });
  }
  return answers;
}

/**
 * Runs it as a batch of the cluster. After a takeover it follows the batch of the other process, or
 * begins it if that process did not.
 */
async function runInBatches(
  world: StateWorld,
  job: MinionJob,
  call: StateCall,
  size: string,
): Promise<Map<string, MinionAnswer>> {
  const before = call.earlier === undefined ? undefined : textOf(call.earlier, 'jid');
  const jid = before ?? (await newJid(world));
  if (before === undefined) await call.note(mapOf({ jid }));
  const command: Command = { ...commandOf(job), tgt: targetOf(job.tgt), tgtType: job.tgtType };
  const settings = { size, waitMs: 0, failhard: job.failhard, jid };
  const follow = before === undefined ? runBatch : resumeBatch;
  const steps = follow(world.context.client, command, settings);
  return unlessCutOff(batchAnswers(world, steps, jid), world.cutOff);
}

/** @throws Error if required returns can not be found */
async function batchAnswers(
  { context, cutOff }: StateWorld,
  steps: AsyncIterable<BatchStep>,
  jid: string,
): Promise<Map<string, MinionAnswer>> {
  const answers = new Map<string, MinionAnswer>();
  for await (const step of steps) {
    if (cutOff?.aborted === true) break;
    if (step.kind === 'no-match') context.out(NO_MATCH);
    if (step.kind === 'silent') answers.set(step.id, { out: 'highstate', ret: new Map() });
    if (step.kind === 'unseen') {
      throw new Error(`${step.count} returns of the batch ${jid} are not in the job cache`);
    }
    if (step.kind !== 'return') continue;
    const own = isMap(step.ret) ? textOf(step.ret, 'out') : undefined;
    answers.set(step.id, { out: own ?? 'highstate', ret: step.ret });
  }
  return answers;
}

/**
 * The returns of a job that another process published, or was about to. They are in the job cache,
 * which may lag or be unreachable.
 * @throws Error if the job does not appear in the job cache
 */
async function goneOnWith(sent: SentJob): Promise<Map<string, MinionAnswer>> {
  const { world, jid } = sent;
  const { jobs } = world.context;
  const sinceMs = world.master.now();
  let receivedMs = sinceMs;
  let last = { count: -1, atMs: sinceMs };
  for (;;) {
    const known = await unlessAway(() => jobs.targets(jid));
    const meant = known?.value;
    const found = meant === undefined ? undefined : await unlessAway(() => returnsOf(sent, meant));
    const now = world.master.now();
    if (found !== undefined) receivedMs = now;
    if (found?.value !== undefined) {
      const { owing, returned } = found.value;
      if (returned.size !== last.count) last = { count: returned.size, atMs: now };
      // A return may be on its way into the job cache after its minion has finished the job.
      if (owing.length === 0 || now - last.atMs >= KNOWN_WITHIN_MS) {
        const failed = [...(sent.job.expectMinions ? owing : []), ...(meant?.missing ?? [])];
        return fromCache(returned, failed, jid);
      }
    }
    // While the stream remembers the first publish, a second one has no effect.
    const isSafe = known !== undefined || now - sent.atMs < KNOWN_TWICE_MS;
    const isDue = meant === undefined && now - sinceMs >= KNOWN_WITHIN_MS;
    if (isDue && isSafe && !sent.isSent) {
      const answer = await unlessAway(() => sent.publish());
      if (answer !== undefined && answer.value === undefined) {
        return answersOf(world, undefined, false);
      }
    }
    if (now - receivedMs >= BEHIND_MAX_MS) throw new Error(`job ${jid} is not in the job cache`);
    await unlessCutOff(sleep(LOOK_MS), world.cutOff);
  }
}

/**
 * The returns in the job cache, and the minions without one; undefined while minions run the job.
 */
async function returnsOf(
  { world: { context }, jid }: SentJob,
  { minions }: { readonly minions: readonly string[] },
): Promise<{ readonly returned: SaltMap; readonly owing: readonly string[] } | undefined> {
  const { jobs, client } = context;
  const before = await jobs.returns(jid);
  const silent = minions.filter((id) => !before.has(id));
  if (silent.length === 0) return { returned: before, owing: [] };
  if ((await runningOn(client, silent, jid)).length > 0) return undefined;
  const returned = await jobs.returns(jid);
  return { returned, owing: silent.filter((id) => !returned.has(id)) };
}

/** Filters these minions by their answer that they still run the job. */
async function runningOn(
  client: StateWorld['context']['client'],
  ids: readonly string[],
  jid: string,
): Promise<string[]> {
  const command = { tgt: ids, tgtType: 'list', fun: 'saltutil.find_job', arg: [jid], isOwn: true };
  const answers = await runOnMinions(client, command);
  return (answers ?? []).flatMap((item) =>
    item.kind === 'return' && isMap(item.ret) && item.ret.size > 0 ? [item.id] : [],
  );
}

function fromCache(
  returned: SaltMap,
  failed: readonly string[],
  jid: string,
): Map<string, MinionAnswer> {
  const answers = new Map<string, MinionAnswer>();
  for (const [id, value] of returned) {
    const kept: SaltMap = isMap(value) ? value : mapOf({ return: value });
    const out = textOf(kept, 'out');
    const retcode = kept.get('retcode');
    answers.set(pyStr(id), {
      ret: kept.get('return') ?? null,
      jid,
      ...(out === undefined ? {} : { out }),
      ...(retcode === undefined ? {} : { retcode }),
    });
  }
  for (const id of failed) if (!answers.has(id)) answers.set(id, { failed: true });
  return answers;
}

/** The event `args` of an orchestration: the next call of a step (Salt: fire_args). */
export async function fireArgs(
  { master }: StateWorld,
  { orchestrationJid }: StateCall,
  data: SaltMap,
): Promise<void> {
  if (orchestrationJid === undefined) return;
  await master.fire(`salt/run/${orchestrationJid}/args`, data);
}

/** Refuses salt-ssh in a step. @throws Error */
export function refuseSsh(args: SaltMap): void {
  if (isTruthy(args.get('ssh'))) {
    throw pythonError('salt.exceptions.SaltInvocationError', 'ssh: salt-ssh is not served');
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, type JobReturn, runBatch } from '@brine/client';
import type { StateCall } from '@brine/states';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { runOnMinions } from '../minions/run-on-minions.ts';
import { pythonError, type StateWorld, unlessCutOff } from './world.ts';

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
  /** Minions that sent no return are failed ones. */
  readonly expectMinions: boolean;
  /** `ret_config` and `ret_kwargs`. */
  readonly kwargs: SaltMap;
}

/** What a minion returned, or that it did not. */
export interface MinionAnswer {
  readonly ret?: SaltValue;
  readonly out?: string;
  readonly retcode?: SaltValue;
  readonly jid?: string;
  readonly failed?: true;
}

/** Longest wait for minions that `timeout` of a step can ask for, s: a day. */
const TIMEOUT_MAX_S = 86_400;

/** Job ids that are taken are stepped over this often. */
const JID_TRIES_MAX = 100;

/** After a takeover: for so long the job cache is asked whether a job went out, ms. */
const KNOWN_WITHIN_MS = 10_000;
const LOOK_MS = 1_000;

/**
 * Runs a function on minions and gathers what they return, in the order of arrival (Salt:
 * salt/modules/saltutil.py cmd). After a takeover it gathers the returns of the job that the other
 * worker published, and publishes nothing that went out already.
 * @throws RefusedError RunCutOffError, Error for a batch that was cut off
 */
export async function runMinionJob(
  world: StateWorld,
  job: MinionJob,
  call: StateCall,
): Promise<Map<string, MinionAnswer>> {
  if (job.batch !== undefined) return runInBatches(world, job, call, job.batch);
  const { earlier } = call;
  const jid = earlier === undefined ? undefined : textOf(earlier, 'jid');
  const kept = earlier?.get('tgt');
  const chosen = kept === undefined ? await chosenTarget(world, job) : listOfTexts(kept);
  const tgt = chosen ?? targetOf(job.tgt);
  const tgtType = chosen === undefined ? job.tgtType : 'list';
  if (jid !== undefined) {
    const answers = await gatheredAgain(world, job, jid);
    if (answers !== undefined) return answers;
  }
  const own = jid ?? (world.isOwned ? await newJid(world) : '');
  if (world.isOwned) {
    await call.note(mapOf({ jid: own, ...(chosen === undefined ? {} : { tgt: [...chosen] }) }));
  }
  const command: Command = { ...commandOf(job), tgt, tgtType, jid: own };
  const returns = await unlessCutOff(
    runOnMinions(world.context.client, command, timeoutOf(job.timeout)),
    world.cutOff,
  );
  if (returns === undefined) world.context.out(`${NO_MATCH}\n`);
  return answersOf(returns ?? [], job.expectMinions);
}

/** What stock Salt prints, whatever a step then makes of it. */
const NO_MATCH = 'No minions matched the target. No command was sent, no jid was assigned.';

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
  for (let tries = 0; tries < JID_TRIES_MAX; tries += 1) {
    const jid = master.nextJid();
    if (await master.publications.reserve(jid)) return jid;
  }
  throw new Error('Could not allocate a job id');
}

/** The random part of a target that `subset` asks for; undefined for the whole target. */
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
  });
  const able = (listed ?? []).flatMap((item) =>
    item.kind === 'return' && Array.isArray(item.ret) && item.ret.includes(job.fun)
      ? [{ id: item.id, order: Math.random() }]
      : [],
  );
  const size = Number(job.subset);
  return able
    .sort((a, b) => a.order - b.order)
    .slice(0, Number.isFinite(size) ? Math.max(1, size) : able.length)
    .map(({ id }) => id);
}

function answersOf(returns: readonly JobReturn[], expect: boolean): Map<string, MinionAnswer> {
  const answers = new Map<string, MinionAnswer>();
  for (const item of returns) {
    if (item.kind === 'return') {
      const { ret, out, retcode, jid } = item;
      answers.set(item.id, {
        ret,
        ...(out === undefined ? {} : { out }),
        ...(retcode === undefined ? {} : { retcode }),
        ...(jid === undefined ? {} : { jid }),
      });
    } else if (expect) answers.set(item.id, { failed: true });
  }
  return answers;
}

async function runInBatches(
  world: StateWorld,
  job: MinionJob,
  call: StateCall,
  size: string,
): Promise<Map<string, MinionAnswer>> {
  if (call.earlier !== undefined) {
    throw new Error('the batch was under way when its worker died; it was not begun again');
  }
  const jid = await newJid(world);
  await call.note(mapOf({ jid }));
  const command: Command = { ...commandOf(job), tgt: targetOf(job.tgt), tgtType: job.tgtType };
  const settings = { size, waitMs: 0, failhard: job.failhard, jid };
  const answers = new Map<string, MinionAnswer>();
  for await (const step of runBatch(world.context.client, command, settings)) {
    if (world.cutOff?.aborted === true) throw world.cutOff.reason;
    if (step.kind === 'silent') answers.set(step.id, { out: 'highstate', ret: new Map() });
    if (step.kind !== 'return') continue;
    const own = isMap(step.ret) ? textOf(step.ret, 'out') : undefined;
    answers.set(step.id, { out: own ?? 'highstate', ret: step.ret });
  }
  return answers;
}

/** The returns of a job that another worker published; undefined where it never went out. */
async function gatheredAgain(
  world: StateWorld,
  job: MinionJob,
  jid: string,
): Promise<Map<string, MinionAnswer> | undefined> {
  const { jobs, client } = world.context;
  const untilMs = world.master.now() + KNOWN_WITHIN_MS;
  let load = await jobs.load(jid);
  while (load === undefined && world.master.now() < untilMs) {
    await unlessCutOff(sleep(LOOK_MS), world.cutOff);
    load = await jobs.load(jid);
  }
  if (load === undefined) return undefined;
  const minions = (listOf(load, 'Minions') ?? []).map(pyStr);
  for (;;) {
    const returned = await jobs.returns(jid);
    const owing = minions.filter((id) => !returned.has(id));
    const busy = owing.length === 0 ? [] : await runningOn(client, owing, jid);
    if (busy.length === 0) return fromCache(await jobs.returns(jid), owing, jid, job.expectMinions);
    await unlessCutOff(sleep(LOOK_MS), world.cutOff);
  }
}

/** Of these minions those that say that they still run the job. */
async function runningOn(
  client: StateWorld['context']['client'],
  ids: readonly string[],
  jid: string,
): Promise<string[]> {
  const command = { tgt: ids, tgtType: 'list', fun: 'saltutil.find_job', arg: [jid] };
  const answers = await runOnMinions(client, command);
  return (answers ?? []).flatMap((item) =>
    item.kind === 'return' && isMap(item.ret) && item.ret.size > 0 ? [item.id] : [],
  );
}

function fromCache(
  returned: SaltMap,
  owing: readonly string[],
  jid: string,
  expect: boolean,
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
  if (expect) {
    for (const id of owing) if (!answers.has(id)) answers.set(id, { failed: true });
  }
  return answers;
}

/** The event `args` of an orchestration: what a step is about to do (Salt: fire_args). */
export async function fireArgs(
  { master }: StateWorld,
  { orchestrationJid }: StateCall,
  data: SaltMap,
): Promise<void> {
  if (orchestrationJid === undefined) return;
  await master.fire(`salt/run/${orchestrationJid}/args`, data);
}

/** Refuses what a step asks of salt-ssh. @throws Error */
export function refuseSsh(args: SaltMap): void {
  if (isTruthy(args.get('ssh'))) {
    throw pythonError('salt.exceptions.SaltInvocationError', 'ssh: salt-ssh is not served');
  }
}

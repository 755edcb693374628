import { listOf, mapIn, mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import type { OwnedRun } from '../owned-run.ts';
import { BatchPlan, settingsMap } from './batch-plan.ts';
import { aboutOf, type BatchAbout, lastNews } from './batch-tale.ts';

/** Size limit, in minions, of a batch with a state file for stock tools of the host. */
const STATE_MAX_MINIONS = 2_000;

/** The driver in our state files: no stock master resumes them, and none is adopted. */
const OUR_DRIVER = 'brine';

/**
 * Converts a batch of a stock 3008 `salt --async -b` to one of ours. The command has published the
 * first part and left its state (Salt: salt/cli/salt.py _run_batch_async). Does nothing for a batch
 * that is ours already.
 */
export async function adoptStockBatch(run: OwnedRun, nowMs: number): Promise<void> {
  const state = mapIn(run.data, 'adopt');
  if (state === undefined) return;
  const active = [...(mapIn(state, 'active') ?? mapOf({})).keys()].filter(isText);
  const done = ['done', 'failed'].flatMap((name) => [...(mapIn(state, name) ?? mapOf({})).keys()]);
  const gone = done.filter(isText);
  const pending = (listOf(state, 'pending') ?? []).filter(isText);
  const keywords = mapIn(state, 'kwargs') ?? mapOf({});
  const arg = [...(listOf(state, 'arg') ?? [])];
  if (keywords.size > 0) arg.push(new Map([...keywords, ['__kwarg__', true]]));
  const load = mapOf({
    fun: state.get('fun') ?? '',
    arg,
    tgt: state.get('tgt') ?? '',
    jid: run.jid,
    tgt_type: state.get('tgt_type') ?? 'glob',
    ret: state.get('ret') ?? '',
    user: state.get('user'),
  });
  const settings = {
    size: String(numberOf(state.get('batch_size')) ?? 1),
    waitMs: 1000 * (numberOf(state.get('batch_wait')) ?? 0),
    failhard: state.get('failhard') === true,
    timeoutMs: 1000 * (numberOf(state.get('timeout')) ?? 60),
    gatherMs: 1000 * (numberOf(state.get('gather_job_timeout')) ?? 10),
  };
  const ids = [...gone, ...active, ...pending];
  const out = gone.length + active.length;
  const saved = mapOf({ about: out, published: out, done: gone.length, active });
  const plan = new BatchPlan(ids, settings, nowMs, saved);
  // The command that began it has fired its event.
  plan.step({ dispatched: active, finished: [], silent: [] });
  const fixed = mapOf({ load, settings: settingsMap(settings), ids, down: [] });
  const data = lastNews(aboutOf(run.jid, load), plan, nowMs);
  // Returns from before the adoption are read too.
  await run.saveInput(
    fixed,
    data.set('plan', plan.saved()).set('at', aboutOf(run.jid, load).createdMs),
  );
}

/** True if stock tools of a host can see a batch: one with too many minions has no state file. */
export function hasFile({ ids }: BatchPlan): boolean {
  return ids.length <= STATE_MAX_MINIONS;
}

/**
 * The state of a batch in the form that stock tools read from the job's directory (Salt:
 * salt/utils/batch_state.py); undefined if it is too large for a file at each step.
 */
export function stateForFile(
  about: BatchAbout,
  plan: BatchPlan,
  nowMs: number,
): SaltMap | undefined {
  if (!hasFile(plan)) return undefined;
  const { pending } = plan.counts;
  const seconds = new SaltFloat(nowMs / 1000);
  const active = new Set(plan.active);
  const silent = new Set(plan.silent);
  const given = plan.ids.slice(0, plan.ids.length - pending);
  const done = given.filter((id) => !active.has(id) && !silent.has(id));
  return mapOf({
    jid: about.jid,
    all_minions: [...plan.ids],
    pending: plan.ids.slice(plan.ids.length - pending),
    active: mapFrom(active, seconds),
    // Their returns are in the job cache.
    done: mapFrom(done, mapOf({})),
    failed: mapFrom(silent, 'timeout'),
    wait: [],
    batch_size: plan.size,
    fun: about.fun,
    arg: [],
    kwargs: mapOf({}),
    tgt: about.tgt,
    tgt_type: about.tgtType,
    failhard: false,
    batch_wait: 0,
    timeout: 60,
    gather_job_timeout: 10,
    last_progress: seconds,
    created: new SaltFloat(about.createdMs / 1000),
    halted: plan.halted !== undefined,
    halted_reason: plan.halted ?? null,
    driver: OUR_DRIVER,
    ret: '',
    user: about.user,
  });
}

function mapFrom(ids: Iterable<string>, value: SaltValue): SaltMap {
  return new Map([...ids].map((id) => [id, value]));
}

function isText(value: SaltValue): value is string {
  return typeof value === 'string';
}

function numberOf(value: SaltValue | undefined): number | undefined {
  if (value instanceof SaltFloat) return value.value;
  if (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value)) return Number(value);
  return typeof value === 'number' ? value : undefined;
}

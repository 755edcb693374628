import { isJid, jidTimeMs } from '@brine/job';
import { listOf, mapOf, pack, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { BatchPlan } from './batch-plan.ts';

/** The job of a batch and its user. */
export interface BatchAbout {
  readonly jid: string;
  readonly fun: SaltValue;
  readonly tgt: SaltValue;
  readonly tgtType: string;
  readonly user: string;
  /** Unix ms. */
  readonly createdMs: number;
}

/** A longer target is not repeated in each event and record. */
const TARGET_MAX_BYTES = 4_096;

/** Reads the facts of a batch from its load. */
export function aboutOf(jid: string, load: SaltMap): BatchAbout {
  const tgt = load.get('tgt') ?? '';
  const isShort = pack(tgt).length <= TARGET_MAX_BYTES;
  return {
    jid,
    fun: load.get('fun') ?? '',
    tgt: isShort ? tgt : `${listOf(load, 'tgt')?.length ?? 'many'} minions`,
    tgtType: textOf(load, 'tgt_type') ?? 'glob',
    user: textOf(load, 'user') ?? '',
    createdMs: isJid(jid) ? jidTimeMs(jid) : 0,
  };
}

/** Fields of every event of a batch (Salt: salt/utils/batch_output.py _base_payload). */
function base({ jid, fun, tgt, tgtType, user }: BatchAbout): Record<string, SaltValue> {
  return { jid, fun, tgt, tgt_type: tgtType, user };
}

/**
 * The data of `salt/batch/<jid>/new|progress|complete|halted` (Salt: salt/utils/batch_output.py).
 * The field `brine` has the data that a command needs to print the progress of the batch.
 */
export function batchEvent(
  suffix: string,
  about: BatchAbout,
  plan: BatchPlan,
  nowMs: number,
  more: SaltMap,
): SaltMap {
  const { total, completed, active, pending, failed } = plan.counts;
  const duration = new SaltFloat((nowMs - about.createdMs) / 1000);
  const fields: Record<string, Record<string, SaltValue>> = {
    new: {
      total_minions: total,
      batch_size: plan.size,
      driver: 'master',
      created: seconds(about.createdMs),
    },
    progress: { total, completed, active, pending, failed, iter: plan.seq },
    complete: { completed, failed, total_minions: total, duration },
    halted: {
      reason: plan.halted ?? null,
      completed,
      failed,
      abandoned_active: [...plan.active].sort(),
      duration,
      abandoned_pending: pending === 0 ? [] : plan.ids.slice(total - pending),
    },
  };
  const { dispatched, finished, silent } = plan.last;
  const brine = mapOf({
    seq: plan.seq,
    ...(suffix === 'progress'
      ? { dispatched: [...dispatched], finished: [...finished], silent: [...silent] }
      : {}),
  });
  const timed = suffix === 'progress' ? { last_progress: seconds(nowMs) } : {};
  const data = mapOf({ ...base(about), ...fields[suffix], ...timed });
  return data.set('brine', new Map([...brine, ...more]));
}

/**
 * The result of `batch.status` without the age (Salt: salt/runners/batch.py _summary). The record
 * of the run has it, during the batch and for some days after.
 */
export function lastNews(about: BatchAbout, plan: BatchPlan, nowMs: number): SaltMap {
  const { total, completed, active, pending, failed, highest } = plan.counts;
  return mapOf({
    ...base(about),
    total,
    completed,
    active,
    pending,
    failed,
    batch_size: plan.size,
    halted: plan.halted !== undefined,
    halted_reason: plan.halted ?? null,
    driver: 'master',
    created: seconds(about.createdMs),
    last_progress: seconds(nowMs),
    paused: plan.isPaused,
    retcode: highest,
    seq: plan.seq,
  });
}

function seconds(ms: number): SaltValue {
  return new SaltFloat(ms / 1000);
}

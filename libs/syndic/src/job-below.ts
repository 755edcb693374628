import { createHash } from 'node:crypto';
import type { SaltValue } from '@brine/wire';
import { mapOf, pack, textOf } from '@brine/wire';
import type { PublishedJob, PublishRequest } from '@brine/wire/load';
import { buildPublishedJob } from '@brine/wire/load';

/** The settings for publishing a job from above. */
export interface BelowSettings {
  /** `master_id` of this master: jobs that it published itself are not published again. */
  readonly masterId: string | undefined;
  /** `timeout` in seconds, for a job without one. */
  readonly timeout: number;
  /** `order_masters`: the job carries its caller's timeout for masters below. */
  readonly orderMasters: boolean;
  /** `ext_job_cache`, which each local client adds to a job's returners; empty for none. */
  readonly extJobCache: string;
  /** The user whose key publishes (`syndic_user`). */
  readonly user: string;
}

/** A job from above as a request of a local client. */
export interface JobBelow {
  /** Without the key. */
  readonly request: PublishRequest;
  /** The same for the same job from the same master above, from every relay. */
  readonly id: string;
}

/** Fields that a stock syndic passes on (salt/minion.py Syndic.syndic_cmd). */
const AS_STOCK = ['master_id', 'user'] as const;
/**
 * Fields that it drops. Then a target with another delimiter means other minions below, and returns
 * lack the values of `--metadata` and `--return_config`. Only jobs with these fields differ.
 */
const BEYOND_STOCK = [
  'metadata',
  'ret_config',
  'ret_kwargs',
  'module_executors',
  'executor_opts',
] as const;

/** Fields that differ between two sendings of one job. */
const PER_SENDING: ReadonlySet<SaltValue> = new Set(['to', 'traceparent', 'tracestate']);

const ID = /^syndic:([0-9a-f]{12}):[0-9a-f]{32}$/;

/** A master above in the ids of requests and the names of consumers: 12 hex digits. */
export function tokenOf(above: string): string {
  return createHash('sha256').update(above).digest('hex').slice(0, 12);
}

/** The token of the master above that a job was published for; undefined for own jobs. */
export function askerOf(requestId: string): string | undefined {
  return ID.exec(requestId)?.[1];
}

/**
 * The request to publish a job from above here: same jid, no target check, a second less to wait
 * (salt/minion.py Syndic). Undefined for this master's own job that comes back.
 *
 * @param token {@link tokenOf} the master above
 */
export function jobBelow(
  job: PublishedJob,
  token: string,
  settings: BelowSettings,
): JobBelow | undefined {
  const { rest } = job;
  const { masterId } = settings;
  if (masterId !== undefined && rest.get('master_id') === masterId) return undefined;
  const kwargs = mapOf({ auth_list: rest.get('auth_list') ?? [] });
  for (const name of AS_STOCK) {
    const value = name === 'user' ? job.user : rest.get(name);
    if (value !== undefined) kwargs.set(name, value);
  }
  if (job.delimiter !== undefined) kwargs.set('delimiter', job.delimiter);
  for (const name of BEYOND_STOCK) {
    const value = rest.get(name);
    if (value !== undefined) kwargs.set(name, value);
  }
  const traceparent = textOf(rest, 'traceparent');
  const to = rest.get('to');
  const wait = Math.trunc(typeof to === 'number' ? to : settings.timeout) - 1;
  return {
    id: `syndic:${token}:${hashOf(job)}`,
    request: {
      tgt: job.tgt,
      tgtType: job.tgtType,
      fun: job.fun,
      arg: job.arg,
      ret: [job.ret, settings.extJobCache].filter((name) => name !== '').join(','),
      jid: job.jid,
      user: settings.user,
      kwargs,
      ...(settings.orderMasters ? { to: wait } : {}),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}

/**
 * Covers the fields that identify the job; a master above that repeats it only raises the serial.
 */
function hashOf(job: PublishedJob): string {
  const { serial: _serial, ...same } = job;
  const rest = new Map([...job.rest].filter(([key]) => !PER_SENDING.has(key)));
  const bytes = pack(buildPublishedJob({ ...same, rest }));
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

import { createHash } from 'node:crypto';
import type { SaltValue } from '@brine/wire';
import { mapOf, pack, textOf } from '@brine/wire';
import type { PublishedJob, PublishRequest } from '@brine/wire/load';
import { buildPublishedJob } from '@brine/wire/load';

/** What a job from above is published with. */
export interface BelowSettings {
  /** `master_id` of this master: what it published itself does not come round again. */
  readonly masterId: string | undefined;
  /** `timeout` in seconds, for a job that says none. */
  readonly timeout: number;
  /** `order_masters`: the job says to masters below how long its caller waits. */
  readonly orderMasters: boolean;
  /** `ext_job_cache`, which each local client adds to a job's returners; empty for none. */
  readonly extJobCache: string;
  /** Whose key publishes (`syndic_user`). */
  readonly user: string;
}

/** A job from above as a local client of this master asks for it. */
export interface JobBelow {
  /** Less the key. */
  readonly request: PublishRequest;
  /** The same for the same job from the same master above, whichever relay heard it. */
  readonly id: string;
}

/** A stock syndic hands these on (salt/minion.py Syndic.syndic_cmd). */
const AS_STOCK = ['master_id', 'user'] as const;
/**
 * These it forgets, so that a target with another delimiter means other minions below, and returns
 * lack what `--metadata` and `--return_config` asked for. Only jobs that have them differ.
 */
const BEYOND_STOCK = [
  'metadata',
  'ret_config',
  'ret_kwargs',
  'module_executors',
  'executor_opts',
] as const;

/** What differs between two sendings of one job. */
const PER_SENDING: ReadonlySet<SaltValue> = new Set(['to', 'traceparent', 'tracestate']);

const ID = /^syndic:([0-9a-f]{12}):[0-9a-f]{32}$/;

/** A master above in the ids of requests and the names of consumers: 12 hex digits. */
export function tokenOf(above: string): string {
  return createHash('sha256').update(above).digest('hex').slice(0, 12);
}

/** The token of the master above that a job was published for; undefined for jobs of our own. */
export function askerOf(requestId: string): string | undefined {
  return ID.exec(requestId)?.[1];
}

/**
 * How a job from above is published here: same jid, no target check, a second less to wait
 * (salt/minion.py Syndic). Undefined where it is this master's own job that comes round.
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

/** Over what makes it this job; a master above that sends it again only counts its serial up. */
function hashOf(job: PublishedJob): string {
  const { serial: _serial, ...same } = job;
  const rest = new Map([...job.rest].filter(([key]) => !PER_SENDING.has(key)));
  const bytes = pack(buildPublishedJob({ ...same, rest }));
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

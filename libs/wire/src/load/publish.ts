import { checkNames } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, textOf } from '../value.ts';
import {
  fieldError,
  listOrEmpty,
  maybe,
  needText,
  needTexts,
  optionalMap,
  optionalText,
} from './fields.ts';

/*
 * publish (clear, from local clients) =>
 *   cmd "publish"
 *   tgt text | list of texts
 *   tgt_type text
 *   fun text | list of texts
 *   arg list                                      one list per function where fun is a list
 *   ret text                                      comma list of returners
 *   jid text                                      usually ""
 *   key text                                      local key
 *   user text
 *   to int                                        with order_masters
 *   kwargs map                                    eauth, token, delimiter, metadata, auth_list …
 *   traceparent text, tracestate text             3008 with tracing
 *   brine_request text                            of Brine's own clients: names the one command
 */

/**
 * The field of a `publish` or `runner` load that names its command, so that the same bytes are that
 * command sent again. Without it they may also be the same command typed twice.
 */
export const COMMAND_NAME = 'brine_request';

/** A local client's request to publish. */
export interface PublishRequest {
  readonly tgt: string | string[];
  readonly tgtType: string;
  readonly fun: string | string[];
  readonly arg: SaltValue[];
  readonly ret: string;
  readonly jid: string;
  readonly key?: string;
  readonly user?: string;
  /** Seconds that a syndic's client waits. */
  readonly to?: number;
  readonly kwargs?: SaltMap;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** Reads a `publish` load; throws WireError SALT_WIRE_FIELD. */
export function parsePublish(load: SaltMap): PublishRequest {
  checkNames(load, 'publish');
  const to = load.get('to');
  return {
    tgt: needTexts(load, 'tgt', 'publish'),
    tgtType: optionalText(load, 'tgt_type', 'publish') ?? 'glob',
    fun: needTexts(load, 'fun', 'publish'),
    arg: listOrEmpty(load, 'arg', 'publish'),
    ret: optionalText(load, 'ret', 'publish') ?? '',
    jid: optionalText(load, 'jid', 'publish') ?? '',
    // A value that is no text counts as no key: its sender is refused by name.
    ...maybe('key', textOf(load, 'key')),
    ...maybe('user', optionalText(load, 'user', 'publish')),
    ...maybe('to', typeof to === 'number' ? to : undefined),
    ...maybe('kwargs', optionalMap(load, 'kwargs', 'publish')),
    ...maybe('traceparent', optionalText(load, 'traceparent', 'publish')),
    ...maybe('tracestate', optionalText(load, 'tracestate', 'publish')),
  };
}

/** The `publish` load as the `salt` command sends it. */
export function buildPublish(request: PublishRequest): SaltMap {
  return mapOf({
    cmd: 'publish',
    tgt: request.tgt,
    fun: request.fun,
    arg: request.arg,
    key: request.key,
    tgt_type: request.tgtType,
    ret: request.ret,
    jid: request.jid,
    kwargs: request.kwargs,
    user: request.user,
    to: request.to,
    traceparent: request.traceparent,
    tracestate: request.tracestate,
  });
}

/** The answer to a publish, inside `{"enc": "clear", "load": …}`. */
export function buildPublishReply(reply: {
  readonly jid: string | null;
  readonly minions: string[];
  readonly missing?: string[];
  readonly error?: string;
}): SaltMap {
  return mapOf({
    jid: reply.jid,
    minions: reply.minions,
    missing: reply.missing,
    error: reply.error,
  });
}

/** The plain map that reports authentication and authorization errors. */
export function buildErrorReply(name: string, message: string): SaltMap {
  return mapOf({ error: mapOf({ name, message }) });
}

/*
 * publication P (inside the Crypticle blob of a frame of port 4505) =>
 *   fun, arg, tgt, tgt_type, jid, ret, user
 *   serial int                                    strictly increasing per AES key
 *   delimiter text                                if not ":"
 *   master_id, id, to, auth_list, ret_config, ret_kwargs, metadata, module_executors,
 *   executor_opts, start_event, traceparent       where they apply
 */

/** A job as minions get it. `rest` has all other fields of the publication. */
export interface PublishedJob {
  readonly fun: string | string[];
  readonly arg: SaltValue[];
  readonly tgt: string | string[];
  readonly tgtType: string;
  readonly jid: string;
  readonly ret: string;
  readonly user?: string;
  readonly delimiter?: string;
  readonly serial?: number | bigint;
  readonly rest: SaltMap;
}

const JOB_FIELDS: ReadonlySet<string> = new Set([
  'fun',
  'arg',
  'tgt',
  'tgt_type',
  'jid',
  'ret',
  'user',
  'delimiter',
  'serial',
]);

/** Reads P; throws WireError SALT_WIRE_FIELD (a minion ignores such a publication). */
export function parsePublishedJob(load: SaltMap): PublishedJob {
  const serial = load.get('serial');
  if (serial !== undefined && typeof serial !== 'number' && typeof serial !== 'bigint') {
    throw fieldError('publication', 'serial', 'an integer');
  }
  const arg = load.get('arg');
  if (!Array.isArray(arg)) throw fieldError('publication', 'arg', 'a list');
  const rest: SaltMap = new Map();
  for (const [key, value] of load) {
    if (typeof key !== 'string' || !JOB_FIELDS.has(key)) rest.set(key, value);
  }
  return {
    fun: needTexts(load, 'fun', 'publication'),
    arg,
    tgt: needTexts(load, 'tgt', 'publication'),
    tgtType: optionalText(load, 'tgt_type', 'publication') ?? 'glob',
    jid: needText(load, 'jid', 'publication'),
    ret: optionalText(load, 'ret', 'publication') ?? '',
    rest,
    ...maybe('user', optionalText(load, 'user', 'publication')),
    ...maybe('delimiter', optionalText(load, 'delimiter', 'publication')),
    ...maybe('serial', serial),
  };
}

/** P, in the order in which Salt writes it: `rest` before the targeting type, `serial` last. */
export function buildPublishedJob(job: PublishedJob): SaltMap {
  const map = mapOf({
    fun: job.fun,
    arg: job.arg,
    tgt: job.tgt,
    jid: job.jid,
    ret: job.ret,
    tgt_type: job.tgtType,
    user: job.user,
    delimiter: job.delimiter,
  });
  for (const [key, value] of job.rest) map.set(key, value);
  if (job.serial !== undefined) map.set('serial', job.serial);
  return map;
}

/** The data of a published job's event. */
export interface NewJob {
  readonly jid: string;
  readonly tgtType: string;
  readonly tgt: string | readonly string[];
  readonly user: string;
  readonly fun: string | readonly string[];
  readonly arg: SaltValue;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
}

/**
 * The data of `salt/job/<jid>/new`, in Salt's order (Salt: salt/master.py ClearFuncs._prep_pub).
 */
export function buildNewJob(job: NewJob): SaltMap {
  return mapOf({
    jid: job.jid,
    tgt_type: job.tgtType,
    tgt: saltList(job.tgt),
    user: job.user,
    fun: saltList(job.fun),
    arg: job.arg,
    minions: [...job.minions],
    missing: [...job.missing],
  });
}

function saltList(value: string | readonly string[]): SaltValue {
  return typeof value === 'string' ? value : [...value];
}

import {
  buildPublish,
  clearEnvelope,
  fromJson,
  isMap,
  listOf,
  mapIn,
  textOf,
  unpack,
} from '@brine/wire';
import type { SaltValue } from '@brine/wire';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublishOptions } from './types.ts';

/** The body of a `publish`, as the `salt` command on the master's host sends it. */
export async function publishBody(options: PublishOptions): Promise<Buffer> {
  const user = options.user ?? 'root';
  const key = (await readFile(join(options.cachedir, `.${user}_key`), 'utf8')).trim();
  const { target } = options;
  return clearEnvelope(
    buildPublish({
      tgt: target,
      tgtType: options.targetType ?? (Array.isArray(target) ? 'list' : 'glob'),
      fun: options.fun ?? 'test.ping',
      arg: (options.arg ?? []).map((one): SaltValue => fromJson(one)),
      ret: '',
      jid: '',
      key,
      user,
      kwargs: new Map(),
    }),
  );
}

/** What a master answered to a `publish`. */
export interface PublishAnswer {
  readonly jid: string | undefined;
  readonly minions: readonly string[];
  readonly error?: string;
}

/** Reads the answer; words of refusal end up in `error`. Throws WireError for other bytes. */
export function readPublishAnswer(reply: Uint8Array): PublishAnswer {
  const value = unpack(reply);
  if (!isMap(value)) return { jid: undefined, minions: [], error: JSON.stringify(value) };
  const load = mapIn(value, 'load');
  if (load === undefined) {
    const error = value.get('error');
    const text = isMap(error) ? textOf(error, 'message') : textOf(value, 'error');
    return { jid: undefined, minions: [], error: text ?? 'refused' };
  }
  const jid = textOf(load, 'jid');
  const listed = listOf(load, 'minions') ?? [];
  const minions = listed.filter((one) => typeof one === 'string');
  const error = textOf(load, 'error');
  return { jid, minions, ...(error === undefined ? {} : { error }) };
}

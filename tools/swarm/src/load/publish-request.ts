import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SaltValue } from '@brine/wire';
import { isMap, listOf, mapIn, mapOf, textOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { buildPublish } from '@brine/wire/load';
import { fromJson } from '@brine/wire/text';
import type { PublishOptions } from '../types.ts';

/** Placeholder in the metadata of a storm's publish, which {@link numbered} replaces. */
const STORM_MARK = 'swarm-0000000000000000';

/**
 * The body of a `publish`, as the `salt` command on the master's host sends it; `storm` makes one
 * to be {@link numbered}. A user `sudo_…` is root under another name, as in Salt, and has root's
 * key.
 */
export async function publishBody(options: PublishOptions, storm = false): Promise<Buffer> {
  const user = options.user ?? 'root';
  const keyUser = user.startsWith('sudo_') ? 'root' : user;
  const key = (await readFile(join(options.cachedir, `.${keyUser}_key`), 'utf8')).trim();
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
      kwargs: mapOf(storm ? { metadata: mapOf({ storm: STORM_MARK }) } : {}),
    }),
  );
}

/** Sixteen digits, unique to one publish. */
export function newToken(): string {
  return randomBytes(8).toString('hex');
}

/** A unique body of a storm: a master may join publishes with the same bytes. */
export function numbered(body: Buffer, token = newToken()): Buffer {
  const at = body.indexOf(STORM_MARK, 0, 'latin1');
  if (at < 0) return body;
  const copy = Buffer.from(body);
  copy.write(token, at + STORM_MARK.length - token.length, 'latin1');
  return copy;
}

/** The answer of a master to a `publish`. */
export interface PublishAnswer {
  readonly jid: string | undefined;
  readonly minions: readonly string[];
  readonly error?: string;
}

/** Reads the answer; `error` is the text of a refusal. Throws WireError for other bytes. */
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

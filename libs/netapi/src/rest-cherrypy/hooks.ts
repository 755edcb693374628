import { randomUUID } from 'node:crypto';
import { hookTag, isHookTag } from '@brine/job';
import { isMap, mapOf, pack, type SaltValue } from '@brine/wire';
import { isTruthy } from '@brine/wire/text';
import { NetapiError } from '../errors.ts';
import { writeAnswer } from './answers.ts';
import { addressOf, type Asked, bodyOf, typeOf } from './asked.ts';

/** Takes an event for the stream. */
export interface HookEvents {
  append(event: {
    readonly kind: 'hook';
    readonly tag: string;
    readonly body: Uint8Array;
    readonly msgId: string;
  }): Promise<unknown>;
}

/** Headers that prove who calls: no follower of events may get them. */
const SECRET: ReadonlySet<string> = new Set([
  'x-auth-token',
  'cookie',
  'authorization',
  'proxy-authorization',
]);
const BLANK = '**********';

/**
 * `POST /hook/…`: an event with the body and the headers (Salt: Webhook).
 * @throws NetapiError 400 for a path that is no tag
 */
export async function fireHook(asked: Asked, events: HookEvents): Promise<string> {
  const type = typeOf(asked);
  const tag = hookTag(asked.path);
  if (!isHookTag(tag)) throw new NetapiError(400, '');
  const { text, data } = bodyOf(asked);
  const { request } = asked;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    const shown = Array.isArray(value) ? value.join(', ') : (value ?? '');
    headers[titled(name)] = SECRET.has(name) ? BLANK : shown;
  }
  // CherryPy adds it, and reactors look at it.
  headers['Remote-Addr'] = addressOf(request);
  const post = postedOf(data);
  const body = pack(mapOf({ body: text, post, headers: mapOf(headers) }));
  await events.append({ kind: 'hook', tag, body, msgId: `hook:${randomUUID()}` });
  return writeAnswer(mapOf({ success: true }), type);
}

/** The body as reactors get it: what Python takes for false is a map, and `arg` is a list. */
function postedOf(data: SaltValue | undefined): SaltValue {
  if (data === undefined || !isTruthy(data)) return mapOf({});
  const arg = isMap(data) ? data.get('arg') : undefined;
  if (!isMap(data) || arg === undefined || Array.isArray(arg)) return data;
  return new Map(data).set('arg', [arg]);
}

/** `content-type` as CherryPy has it: `Content-Type`. */
function titled(name: string): string {
  return name.replace(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  );
}

import { Readable } from 'node:stream';
import { strictJson } from '@brine/client';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { YamlEmitter } from '@brine/yaml';
import type { CallResult } from '../clients/netapi-client.ts';
import { NetapiError } from '../errors.ts';
import type { MediaType } from './accept.ts';

/** Texts that wait to be sent, before the answer is sent in parts. */
const WHOLE_BYTES = 1024 * 1024;
/** With more minions, the answer begins with the first return. */
const WHOLE_MINIONS = 500;
/** Answers that are kept whole: YAML, and those of calls before the last. */
const KEPT_BYTES = 256 * 1024 * 1024;

/** The body of an answer, whole or as it comes. */
export type AnswerBody = string | Readable;

const UNFIT = 'Could not serialize the return data from Salt.';

/** One value in the form that the peer wants. @throws NetapiError 500 */
export function writeAnswer(value: SaltValue, type: MediaType): string {
  if (type === 'application/x-yaml') return new YamlEmitter(2, false, true).dump(value);
  return json(value);
}

/**
 * The answer `{"return": [...]}` of a lowstate. The calls run one after the other; if one fails,
 * so does the request. A large last answer in JSON is sent minion by minion as they return.
 * @throws NetapiError, UnexpectedError
 */
export async function answerOfCalls(
  calls: readonly (() => Promise<CallResult>)[],
  type: MediaType,
): Promise<AnswerBody> {
  if (type === 'application/x-yaml') {
    const values: SaltValue[] = [];
    const room = new Room();
    for (const call of calls) values.push(...(await valuesOf(await call(), room)));
    return writeAnswer(mapOf({ return: values }), type);
  }
  let before = '{"return": [';
  for (const [at, call] of calls.entries()) {
    const parts = partsOf(await call());
    const isLast = at === calls.length - 1;
    const begun = await gathered(before, parts, isLast ? WHOLE_BYTES : KEPT_BYTES);
    if (begun.rest !== undefined) {
      if (!isLast) {
        await begun.rest.return?.();
        throw new NetapiError(500, 'The answers before the last call are too large.');
      }
      return Readable.from(streamed(begun.text, begun.rest), { objectMode: false });
    }
    before = isLast ? begun.text : `${begun.text}, `;
  }
  return `${before}]}`;
}

/** All values of a lowstate that is no answer by itself. */
export async function valueOfCall(result: CallResult): Promise<SaltValue> {
  const [value = null] = await valuesOf(result, new Room());
  return value;
}

/** The texts of one result, and whether it should be sent as soon as it begins. */
interface Parts {
  readonly texts: AsyncIterator<string>;
  readonly isLarge: boolean;
}

function partsOf(result: CallResult): Parts {
  if (result.kind === 'value') return { texts: single(json(result.value)), isLarge: false };
  const isLarge = result.count > WHOLE_MINIONS;
  return { texts: result.kind === 'each' ? eachOf(result) : mapPartsOf(result), isLarge };
}

async function* single(text: string): AsyncGenerator<string> {
  yield text;
}

async function* mapPartsOf({ answers }: CallResult & { kind: 'minions' }): AsyncGenerator<string> {
  let open = '{';
  for await (const { id, value } of answers) {
    yield `${open}${JSON.stringify(id)}: ${json(value)}`;
    open = ', ';
  }
  yield open === '{' ? '{}' : '}';
}

async function* eachOf({ answers }: CallResult & { kind: 'each' }): AsyncGenerator<string> {
  let before = '';
  for await (const { id, value } of answers) {
    yield `${before}${json(mapOf({ [id]: value }))}`;
    before = ', ';
  }
}

/** Takes parts until the end, or until they should be sent: then `rest` has the others. */
async function gathered(
  before: string,
  { texts, isLarge }: Parts,
  maxBytes: number,
): Promise<{ readonly text: string; readonly rest?: AsyncIterator<string> }> {
  let text = before;
  for (;;) {
    const next = await texts.next();
    if (next.done === true) return { text };
    text += next.value;
    if (text.length > maxBytes || (isLarge && maxBytes === WHOLE_BYTES))
      return { text, rest: texts };
  }
}

/** Texts are sent together that come within this time, ms: each return is a packet otherwise. */
const TOGETHER_MS = 50;
const TOGETHER_BYTES = 16 * 1024;

async function* streamed(text: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    yield text;
    let unsent = '';
    let since = 0;
    let next = nextOf(rest);
    for (;;) {
      const leftMs = TOGETHER_MS - (performance.now() - since);
      if (unsent !== '') {
        const isFull = unsent.length > TOGETHER_BYTES || leftMs <= 0;
        if (isFull || !(await within(next, leftMs))) {
          yield unsent;
          unsent = '';
        }
      }
      const result = await next;
      if (result.done === true) break;
      if (unsent === '') since = performance.now();
      unsent += result.value;
      next = nextOf(rest);
    }
    yield `${unsent}]}`;
  } finally {
    // The peer hung up, or there was an error: the wait for returns must end too.
    await rest.return?.();
  }
}

/** The next text; its error is thrown where it is awaited, or lost with a peer that hung up. */
function nextOf(texts: AsyncIterator<string>): Promise<IteratorResult<string, unknown>> {
  const next = texts.next();
  next.catch(() => undefined);
  return next;
}

/** True if a promise is settled within so many ms. */
async function within(one: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  try {
    return await Promise.race([one.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Bounds what is kept of one request. */
class Room {
  #left = KEPT_BYTES;

  take(value: SaltValue): SaltValue {
    this.#left -= (strictJson(value) ?? '').length;
    if (this.#left < 0) throw new NetapiError(500, 'The answer is too large in this form.');
    return value;
  }
}

async function valuesOf(result: CallResult, room: Room): Promise<SaltValue[]> {
  if (result.kind === 'value') return [result.value];
  const all: SaltMap = new Map();
  const each: SaltValue[] = [];
  for await (const { id, value } of result.answers) {
    if (result.kind === 'each') each.push(mapOf({ [id]: room.take(value) }));
    else all.set(id, room.take(value));
  }
  return result.kind === 'each' ? each : [all];
}

function json(value: SaltValue): string {
  const text = strictJson(value);
  if (text === undefined) throw new NetapiError(500, UNFIT);
  return text;
}

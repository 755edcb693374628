import { Readable } from 'node:stream';
import { mapOf, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import type { MinionAnswer } from '../clients/local.ts';
import type { CallResult } from '../clients/netapi-client.ts';
import { NetapiError } from '../errors.ts';
import { type AnswerBody, answerOfCalls, valueOfCall, writeAnswer } from './answers.ts';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/x-yaml';

/** Answers of minions, and whether their wait has ended. */
class Source {
  isEnded = false;
  given = 0;
  readonly #values: readonly (readonly [string, SaltValue])[];

  constructor(values: readonly (readonly [string, SaltValue])[]) {
    this.#values = values;
  }

  async *answers(): AsyncGenerator<MinionAnswer> {
    try {
      for (const [id, value] of this.#values) {
        this.given += 1;
        yield { id, value };
      }
    } finally {
      this.isEnded = true;
    }
  }

  call(count = this.#values.length, kind: 'minions' | 'each' = 'minions') {
    return async (): Promise<CallResult> => ({ kind, count, answers: this.answers() });
  }
}

const value = (one: SaltValue) => async (): Promise<CallResult> => ({ kind: 'value', value: one });

async function textOf(body: AnswerBody): Promise<string> {
  if (typeof body === 'string') return body;
  let text = '';
  for await (const part of body) text += String(part);
  return text;
}

const of = (count: number, one: SaltValue = true) =>
  Array.from({ length: count }, (_, at) => [`web${at}`, one] as const);

describe('a lowstate', () => {
  test('is answered with the values of its calls in their order', async () => {
    const source = new Source([['a', 1]]);
    const body = await answerOfCalls([value('x'), source.call(), value(null)], JSON_TYPE);
    expect(body).toBe('{"return": ["x", {"a": 1}, null]}');
    expect(source.isEnded).toBe(true);
  });

  test('without calls has an empty list, and without minions an empty map', async () => {
    expect(await answerOfCalls([], JSON_TYPE)).toBe('{"return": []}');
    expect(await answerOfCalls([new Source([]).call()], JSON_TYPE)).toBe('{"return": [{}]}');
  });

  test('of a batch has one map for each minion', async () => {
    const source = new Source([
      ['a', 1],
      ['__proto__', 2],
    ]);
    const body = await answerOfCalls([source.call(0, 'each')], JSON_TYPE);
    expect(body).toBe('{"return": [{"a": 1}, {"__proto__": 2}]}');
  });

  test('in YAML has the same values', async () => {
    const source = new Source([['a', mapOf({ x: 1 })]]);
    const body = await answerOfCalls([value('x'), source.call()], YAML_TYPE);
    expect(body).toBe('return:\n- x\n- a:\n    x: 1\n');
  });

  test('runs its calls one after the other, and none after one that fails', async () => {
    const ran: number[] = [];
    const calls = [0, 1, 2].map((at) => async (): Promise<CallResult> => {
      ran.push(at);
      if (at === 1) throw new NetapiError(401, 'no');
      return { kind: 'value', value: at };
    });
    await expect(answerOfCalls(calls, JSON_TYPE)).rejects.toThrow('no');
    expect(ran).toEqual([0, 1]);
  });
});

describe('large answers', () => {
  test('begin with the first return of more than 500 minions', async () => {
    const source = new Source(of(501));
    const body = await answerOfCalls([source.call()], JSON_TYPE);
    expect(body).toBeInstanceOf(Readable);
    expect(source.given).toBe(1);
    const [first] = (JSON.parse(await textOf(body)) as { return: [object] }).return;
    expect(Object.keys(first)).toHaveLength(501);
    expect(source.isEnded).toBe(true);
  });

  test('of 500 minions are whole', async () => {
    expect(typeof (await answerOfCalls([new Source(of(500)).call()], JSON_TYPE))).toBe('string');
  });

  test('of few minions are sent in parts beyond 1 MiB', async () => {
    const source = new Source(of(5, 'x'.repeat(400_000)));
    const body = await answerOfCalls([source.call()], JSON_TYPE);
    expect(body).toBeInstanceOf(Readable);
    expect(source.given).toBe(3);
    expect((await textOf(body)).length).toBeGreaterThan(2_000_000);
  });

  test('before the last call are kept: a later error gives no part of an answer', async () => {
    const source = new Source(of(600));
    const fails = async (): Promise<CallResult> => {
      throw new NetapiError(401, 'no');
    };
    await expect(answerOfCalls([source.call(), fails], JSON_TYPE)).rejects.toThrow('no');
    expect(source.isEnded).toBe(true);
  });

  test('end their wait when the peer hangs up', async () => {
    const source = new Source(of(1_000));
    const body = await answerOfCalls([source.call()], JSON_TYPE);
    if (typeof body === 'string') throw new Error('it is whole');
    await new Promise<void>((resolve) => {
      body.once('close', resolve);
      body.once('data', () => body.destroy());
    });
    expect(source.isEnded).toBe(true);
    expect(source.given).toBeLessThan(1_000);
  });

  test('before the last call end their wait when they are too large', async () => {
    const large = 'x'.repeat(100 * 1024 * 1024);
    const source = new Source(of(4, large));
    await expect(answerOfCalls([source.call(), value(1)], JSON_TYPE)).rejects.toThrow('too large');
    expect(source.isEnded).toBe(true);
  });
});

describe('values that JSON can not have', () => {
  const BYTES = new Uint8Array([0xff]);

  test('are 500, and end the wait', async () => {
    const source = new Source([
      ['a', 1],
      ['b', mapOf({ deep: [BYTES] })],
      ['c', 3],
    ]);
    const refused = await answerOfCalls([source.call()], JSON_TYPE).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      status: 500,
      message: 'Could not serialize the return data from Salt.',
    });
    expect(source.isEnded).toBe(true);
    expect(() => writeAnswer(BYTES, JSON_TYPE)).toThrow(NetapiError);
  });

  test('end a stream that has begun', async () => {
    const source = new Source([...of(600), ['bytes', BYTES], ...of(600)]);
    const body = await answerOfCalls([source.call(1_201)], JSON_TYPE);
    await expect(textOf(body)).rejects.toThrow('Could not serialize');
    expect(source.isEnded).toBe(true);
  });
});

test('one value of a call is a map of minions, a list of a batch, or itself', async () => {
  const values: readonly (readonly [string, SaltValue])[] = [
    ['a', 1],
    ['b', 2],
  ];
  expect(await valueOfCall(await value(5)())).toBe(5);
  expect(await valueOfCall(await new Source(values).call()())).toEqual(mapOf({ a: 1, b: 2 }));
});

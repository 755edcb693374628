import { cpuMs } from '@brine/testing/waits';
import { isMap, mapOf, type SaltValue } from '@brine/wire';
import { YamlWork } from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { NetapiError } from '../errors.ts';
import { type Body, readBody } from './bodies.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const YAML_TYPE = 'application/x-yaml';

function read(type: string | undefined, text: string | Uint8Array): Body {
  return readBody(type, typeof text === 'string' ? Buffer.from(text) : text, YamlWork.ofBody());
}

/** The status of the refusal; undefined if the body is read. */
function statusOf(type: string | undefined, text: string | Uint8Array): number | undefined {
  try {
    read(type, text);
    return undefined;
  } catch (error) {
    if (error instanceof NetapiError) return error.status;
    throw error;
  }
}

describe('types', () => {
  test.each([
    [JSON_TYPE, '{"a": 1}'],
    ['application/json; charset=utf-8', '{"a": 1}'],
    ['APPLICATION/JSON', '{"a": 1}'],
    ['text/plain', '{"a": 1}'],
    ['text/plain;charset=UTF-8', '{"a": 1}'],
    [YAML_TYPE, 'a: 1'],
    ['text/yaml', '{a: 1}'],
  ])('%s is read', (type, text) => {
    expect(read(type, text)).toEqual({ text, data: mapOf({ a: 1 }) });
  });

  test.each([undefined, '', ';', 'json', 'text/html', 'multipart/form-data; boundary=x', '*/*'])(
    '%s is refused with 406',
    (type) => {
      expect(statusOf(type, '{}')).toBe(406);
    },
  );

  test('an empty body of any type is no body', () => {
    for (const type of [undefined, JSON_TYPE, 'text/html']) {
      expect(read(type, '')).toEqual({ text: '', data: undefined });
    }
  });
});

describe('broken bodies', () => {
  test.each(['{', '[1,]', "{'a': 1}", '\u0000', '{"a": 1} x', ''.padEnd(5, '\u00ff')])(
    '%j is no JSON, and as plain text itself',
    (text) => {
      expect(statusOf(JSON_TYPE, text)).toBe(400);
      expect(read('text/plain', text).data).toBe(text);
    },
  );

  test.each(['a: [', '\t- a', 'a: b: c', '!!python/object:os.system {}', '&a [*b]', '- *x'])(
    '%j is no YAML',
    (text) => {
      expect(statusOf(YAML_TYPE, text)).toBe(400);
    },
  );

  test('bytes that are no UTF-8 are read with signs in their place', () => {
    const bytes = Buffer.from([0x22, 0xff, 0xfe, 0x22]);
    expect(read(JSON_TYPE, bytes).data).toBe('\ufffd\ufffd');
  });
});

describe('forms', () => {
  const form = (text: string): SaltValue | undefined => read(FORM_TYPE, text).data;

  test('have their repeated names as lists, and leave out empty values', () => {
    expect(form('client=local&tgt=a&tgt=b&tgt=c&empty=&=x')).toEqual(
      mapOf({ client: 'local', tgt: ['a', 'b', 'c'], '': 'x' }),
    );
  });

  test('have arg and kwarg read as YAML', () => {
    expect(form('arg=1&arg=%5B1%2C+2%5D&arg=x+y')).toEqual(mapOf({ arg: [1, [1, 2], 'x y'] }));
    expect(form('arg=true')).toEqual(mapOf({ arg: [true] }));
    expect(form('kwarg=%7Ba%3A+1%7D')).toEqual(mapOf({ kwarg: mapOf({ a: 1 }) }));
  });

  test('with names of objects are plain fields', () => {
    const data = form('__proto__=1&constructor=2&toString=3');
    expect(isMap(data ?? null) && [...(data as Map<string, string>)]).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['toString', '3'],
    ]);
    expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  });

  test('have at most 10,000 fields', () => {
    expect(statusOf(FORM_TYPE, 'a=1&'.repeat(10_000))).toBeUndefined();
    expect(statusOf(FORM_TYPE, 'a=1&'.repeat(10_001))).toBe(400);
  });

  test('with broken escapes are read as they are', () => {
    expect(form('a=%&b=%zz&c=%ff')).toEqual(mapOf({ a: '%', b: '%zz', c: '\ufffd' }));
  });
});

test('names of objects in JSON and YAML are plain keys', () => {
  const json = read(JSON_TYPE, '{"__proto__": {"polluted": 1}}').data;
  const yaml = read(YAML_TYPE, '__proto__: {polluted: 1}').data;
  for (const data of [json, yaml]) {
    expect([...(data as Map<string, SaltValue>).keys()]).toEqual(['__proto__']);
  }
  expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
});

/** As long as a stranger's body may be. */
const BYTES = 1024 * 1024;
/** What other peers may wait for one body, in ms of CPU; a busy machine may take several times. */
const CPU_MAX_MS = 1_500;

const fill = (piece: string): string => piece.repeat(Math.floor(BYTES / piece.length));
const anchors = ['a: &a [x, x, x, x, x, x, x, x, x]']
  .concat(
    Array.from({ length: 20 }, (_, at) => {
      const before = String.fromCharCode(97 + at);
      const name = String.fromCharCode(98 + at);
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`;
    }),
  )
  .join('\n');

const WORST: readonly (readonly [string, string, string])[] = [
  ['JSON, nested lists', JSON_TYPE, fill('[')],
  ['JSON, nested maps', JSON_TYPE, fill('{"a":')],
  ['JSON, closed lists', JSON_TYPE, `${'['.repeat(BYTES / 2)}${']'.repeat(BYTES / 2)}`],
  ['JSON, many keys', JSON_TYPE, `{${fill('"a":1,')}"b":1}`],
  ['JSON, long numbers', JSON_TYPE, `[${fill(`${'9'.repeat(4_300)},`)}1]`],
  ['JSON, a long number', JSON_TYPE, fill('9')],
  ['JSON, escapes', JSON_TYPE, `"${fill('\\u0000')}"`],
  ['JSON as plain text', 'text/plain', fill('[')],
  ['YAML, nested lists', YAML_TYPE, fill('[')],
  ['YAML, nested blocks', YAML_TYPE, fill('- ')],
  ['YAML, aliases of aliases', YAML_TYPE, anchors],
  ['YAML, one long line', YAML_TYPE, fill('a b ')],
  ['YAML, many keys', YAML_TYPE, Array.from({ length: 20_000 }, (_, at) => `k${at}: 1`).join('\n')],
  ['YAML, colons', YAML_TYPE, fill(': ')],
  ['YAML, quotes', YAML_TYPE, fill('"')],
  ['YAML, just below the limit', YAML_TYPE, '- a\n'.repeat(60_000)],
  ['a form with one long name', FORM_TYPE, fill('a')],
  ['a form of escapes', FORM_TYPE, fill('%41')],
  ['a form of signs', FORM_TYPE, fill('&')],
  ['a form with many texts of YAML', FORM_TYPE, 'arg=%5B'.concat('&arg=%5B'.repeat(9_000))],
  ['a form with a text of YAML', FORM_TYPE, `kwarg=${'%5B'.repeat(300_000)}`],
];

test.each(WORST)('%s takes a bounded time', (_, type, text) => {
  const start = cpuMs();
  const status = statusOf(type, text);
  expect(cpuMs() - start).toBeLessThan(CPU_MAX_MS);
  expect([undefined, 400, 413]).toContain(status);
});

test('without a log-in, YAML has as much work as a request of a minion', () => {
  const bytes = Buffer.from('- a\n'.repeat(5_000));
  expect(() => readBody(YAML_TYPE, bytes, YamlWork.ofPeer())).toThrow('Invalid YAML document');
  expect(() => readBody(YAML_TYPE, bytes, YamlWork.ofBody())).not.toThrow();
});

test('random bytes of any type are read or refused', () => {
  let seed = 7;
  const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31);
  const signs = '{}[]":,\'&*!|>-?%@`=+;\n\t \\a1\u00e9\u0000';
  for (let run = 0; run < 1_000; run += 1) {
    const text = Array.from({ length: next() % 40 }, () => signs[next() % signs.length]).join('');
    for (const type of [JSON_TYPE, FORM_TYPE, YAML_TYPE, 'text/plain']) {
      expect([undefined, 400]).toContain(statusOf(type, text));
    }
  }
});

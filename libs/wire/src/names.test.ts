import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostileTexts, NO_NAMES, type Parse } from '../test/hostile.ts';
import { WireError } from './errors.ts';
import { parseAuth } from './load/auth.ts';
import { parseFileList, parseFilePath, parseFileReceive, parseServeFile } from './load/file.ts';
import { parseMine, parseMineGet } from './load/mine.ts';
import { parseMinionEvent } from './load/minion-event.ts';
import { parsePillar } from './load/pillar.ts';
import { parsePublish } from './load/publish.ts';
import { parseReturn } from './load/return.ts';
import { parseSyndicReturn } from './load/syndic-return.ts';
import { parseGetToken, parseMakeToken } from './load/token.ts';
import { pack } from './msgpack/encode.ts';
import { unpackMap } from './msgpack/splice.ts';
import { checkNames, checkQuestion, isName } from './names.ts';
import { toJson } from './text/json.ts';
import { mapOf, type SaltMap, type SaltValue } from './value.ts';

const generic =
  (what: string): Parse =>
  (load) =>
    checkNames(load, what);

const JID = '20261122080000123456';
const FILE = { id: 'a', path: 'a/b', saltenv: 'base' };

/** Every load: its reader, its fields that are names, and those that are data. */
const LOADS: readonly (readonly [
  name: string,
  parse: Parse,
  names: Readonly<Record<string, SaltValue>>,
  data: Readonly<Record<string, SaltValue>>,
])[] = [
  [
    '_auth',
    parseAuth,
    { nonce: '0'.repeat(32), pub: 'PEM', enc_algo: 'OAEP-SHA1', sig_algo: 'PKCS1v15-SHA1' },
    { id: 'a', autosign_grains: mapOf({}), token: 'x' },
  ],
  [
    'publish',
    parsePublish,
    {
      tgt: '*',
      tgt_type: 'glob',
      fun: 'test.ping',
      ret: '',
      jid: '',
      key: 'k',
      user: 'root',
      traceparent: 'x',
      tracestate: 'x',
    },
    { arg: ['x'], to: 1 },
  ],
  [
    'publish kwargs',
    (kwargs) => parsePublish(mapOf({ tgt: '*', fun: 'x', arg: [], ret: '', jid: '', kwargs })),
    { token: 'x', eauth: 'pam', username: 'anne', delimiter: ':', master_id: 'm' },
    { password: 'x', metadata: mapOf({ key: 'x' }) },
  ],
  ['mk_token', parseMakeToken, { eauth: 'pam', username: 'anne' }, { password: 'x' }],
  ['get_token', parseGetToken, { token: 'ab'.repeat(32) }, {}],
  ['runner', generic('runner'), { fun: 'x', user: 'a', key: 'k', token: 't' }, { kwarg: 'x' }],
  ['wheel', generic('wheel'), { fun: 'x', user: 'a', match: '*' }, { hash_type: 'x' }],
  ['brine_query', generic('brine_query'), { query: 'x', user: 'a' }, { args: mapOf({}) }],
  [
    '_return',
    parseReturn,
    { id: 'a', jid: JID },
    { fun: 'test.ping', return: 'x', success: true, out: 'x', user: 'x', metadata: mapOf({}) },
  ],
  [
    '_syndic_return',
    parseSyndicReturn,
    {},
    { id: 's', jid: JID, fun: 'f', return: mapOf({ m: mapOf({ return: 1 }) }), out: 'x' },
  ],
  [
    '_minion_event',
    parseMinionEvent,
    { id: 'a', tag: 'my/tag', pretag: 'x' },
    { data: mapOf({ x: 1 }) },
  ],
  ['_mine', parseMine, { id: 'a' }, { data: mapOf({ x: 1 }) }],
  ['_mine_get', parseMineGet, { id: 'a', tgt: '*', fun: 'x', tgt_type: 'glob' }, {}],
  ['_pillar', parsePillar, { id: 'a', saltenv: 'b', pillarenv: 'b' }, { grains: mapOf({}) }],
  ['_serve_file', parseServeFile, FILE, { loc: 0 }],
  ['_file_find', parseFilePath, FILE, {}],
  ['_file_list', parseFileList, { id: 'a', saltenv: 'base', prefix: 'x' }, {}],
  ['_file_recv', parseFileReceive, { id: 'a', path: ['a'] }, { loc: 0, data: 'x', size: 1 }],
  ['minion_pub', generic('minion_pub'), { id: 'a', fun: 'x', tgt: '*', ret: '' }, { arg: [] }],
];

const PATHS = new Set(['path', 'prefix']);
/** Paths are judged by their file system: only what no file can be called is refused here. */
const noNamesFor = (field: string): readonly string[] =>
  PATHS.has(field) ? NO_NAMES.filter((text) => /\0|\p{Surrogate}/u.test(text)) : NO_NAMES;

function refuses(parse: Parse, load: SaltMap): boolean {
  try {
    parse(load);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(WireError);
    expect((error as WireError).code).toBe('SALT_WIRE_FIELD');
    // It goes into answers and logs.
    expect((error as WireError).message).not.toMatch(/[\0-\x1f\x7f-\x9f]|\p{Surrogate}/u);
    expect((error as WireError).message.length).toBeLessThan(500);
    return true;
  }
}

/** As it comes over the wire, where a text that is no UTF-8 arrives as bytes. */
const sent = (load: SaltMap): SaltMap => unpackMap(pack(load));

describe('the names in a load', () => {
  for (const [name, parse, names, data] of LOADS) {
    const whole = (): SaltMap => mapOf({ ...data, ...names });

    it(`of ${name} are taken as they should be`, () => {
      expect(refuses(parse, sent(whole()))).toBe(false);
    });

    it(`of ${name} hold no NUL, no control character, no half of a pair, no bytes`, () => {
      for (const [field, value] of Object.entries(names)) {
        for (const hostile of [...noNamesFor(field), Buffer.from('ff00fe', 'hex')]) {
          const given = Array.isArray(value) ? [hostile] : hostile;
          expect([field, hostile, refuses(parse, whole().set(field, given))]).toEqual([
            field,
            hostile,
            true,
          ]);
        }
        if (field === 'path' || typeof value !== 'string') continue;
        const huge = whole().set(field, 'x'.repeat(16 * 1024 * 1024 + 1));
        expect([field, refuses(parse, huge)]).toEqual([field, true]);
      }
    });

    it(`of ${name} are also the names of its fields`, () => {
      if (name === '_syndic_return' || name === '_return' || name === '_auth') return;
      for (const hostile of [...NO_NAMES, Buffer.from([0xff])]) {
        expect([hostile, refuses(parse, whole().set(hostile, 1))]).toEqual([hostile, true]);
      }
    });

    it(`of ${name}: whatever any field holds is taken storable, or refused`, () => {
      const fields = fc.constantFrom(...Object.keys(names), ...Object.keys(data));
      const way = fc.constantFrom<(text: string) => SaltValue>(
        (text) => text,
        (text) => Buffer.from(text, 'utf8'),
        (text) => Buffer.from(text, 'utf16le'),
        (text) => [text, text],
        (text) => new Map([[text, text]]),
      );
      fc.assert(
        fc.property(fields, hostileTexts(), way, (field, text, how) => {
          const load = whole().set(field, how(text));
          for (const one of [load, sent(load)]) {
            if (refuses(parse, one)) continue;
            expect(toJson(one).json).not.toMatch(/\0|\\u0000|\p{Surrogate}/u);
          }
        }),
        { numRuns: 60 },
      );
    });
  }

  it('in lists are judged one by one, and a fleet is no long list', () => {
    const fleet = Array.from({ length: 20_000 }, (_, n) => `${'w'.repeat(200)}${n}.example.com`);
    const job = (tgt: SaltValue): SaltMap =>
      mapOf({ tgt, tgt_type: 'list', fun: 'x', arg: [], ret: '', jid: '' });
    expect(refuses(parsePublish, job(fleet))).toBe(false);
    expect(refuses(parsePublish, job(fleet.join(',')))).toBe(false);
    expect(refuses(parsePublish, job([...fleet, 'a\0']))).toBe(true);
    expect(refuses(parsePublish, job(['x'.repeat(16 * 1024 * 1024), 'y']))).toBe(true);
  });

  it('may be of any script, and a target of several lines', () => {
    for (const text of ['анна', 'مرحبا', '名前', '😀', "o'neil", 'a b', 'ACME\\anne']) {
      expect(isName('user', text)).toBe(true);
    }
    expect(isName('tgt', 'G@os:Debian and\n\tweb*\r\n')).toBe(true);
    expect(isName('tag', 'my/tag\n\nforged')).toBe(false);
  });

  it('of metadata are judged, its values are kept', () => {
    const job = (metadata: SaltMap): SaltMap =>
      mapOf({ tgt: '*', fun: 'x', arg: [], ret: '', jid: '', kwargs: mapOf({ metadata }) });
    for (const hostile of NO_NAMES) {
      expect(refuses(parsePublish, job(new Map([[hostile, 1]])))).toBe(true);
      expect(refuses(parsePublish, job(new Map([['key', hostile]])))).toBe(false);
    }
  });

  it('of one event of a list cost the others nothing', () => {
    const events = NO_NAMES.map((tag) => mapOf({ tag, data: mapOf({}) }));
    const good = mapOf({ tag: 'good', data: mapOf({}) });
    const list = parseMinionEvent(mapOf({ id: 's', events: [...events, good] }));
    expect(list).toMatchObject({ events: [{ tag: 'good' }], unfit: NO_NAMES.length });
  });
});

describe('a question to the store', () => {
  it('has no text that it can not take', () => {
    for (const text of ['a\0', '\ud800']) {
      expect(() => checkQuestion(mapOf({ kind: text }), 'x')).toThrow(WireError);
      expect(() => checkQuestion(mapOf({ kinds: ['b', text] }), 'x')).toThrow(WireError);
      expect(() => checkQuestion(new Map([[text, 1]]), 'x')).toThrow(WireError);
    }
    expect(() => checkQuestion(mapOf({ kind: 'a\x1b', n: 1 }), 'x')).not.toThrow();
  });
});

import type { SaltMap, SaltValue } from '@brine/wire';
import * as base from '@brine/wire';
import * as frames from '@brine/wire/frames';
import * as load from '@brine/wire/load';
import * as text from '@brine/wire/text';
import { isIdName } from '../../../libs/wire/src/frames/envelope.ts';
import { appendPacked } from '../../../libs/wire/src/msgpack/splice.ts';
import { many, type WorstWork } from '../worst.ts';

/** What reads bytes, with two that stand behind no door. */
export const wire = { ...base, ...frames, ...load, ...text, appendPacked, isIdName };

/** A request of this size is opened by a gateway on its own loop. */
const SIZE = 65_536;
/** A text of JSON may be longer: only results of programs and stored rows are read so. */
const JSON_SIZE = 131_072;

const head = (...bytes: number[]): Buffer => Buffer.from(bytes);
const filled = (prefix: readonly number[], byte: number, size = SIZE): Buffer =>
  Buffer.concat([Buffer.from(prefix), Buffer.alloc(size, byte)]);
const count32 = (type: number, count: number): number[] => [
  type,
  count >>> 24,
  (count >> 16) & 255,
  (count >> 8) & 255,
  count & 255,
];

const keys = (count: number, name: (at: number) => string): SaltMap =>
  new Map(Array.from({ length: count }, (_, at) => [name(at), at]));
function nested(levels: number, wrap: (inner: SaltValue) => SaltValue): SaltValue {
  let value: SaltValue = 1;
  for (let at = 0; at < levels; at += 1) value = wrap(value);
  return value;
}

/** One pair of equal keys after the other. */
const doubled = Buffer.concat([
  head(...count32(0xdf, SIZE / 4)),
  Buffer.from(
    many(SIZE / 4, () => '\xa1a\xa1b'),
    'latin1',
  ),
]);

/**
 * Integers that V8 puts into one bucket of a map. Unlike that of texts their hash has no seed
 * (v8: src/base/hashing.h), so an attacker can invert it.
 */
function colliding(count: number): [number, number][] {
  const inverse = (factor: number): number => {
    let found = factor;
    for (let round = 0; round < 5; round += 1) {
      found = Math.imul(found, 2 - Math.imul(factor, found));
    }
    return found;
  };
  const unshifted = (mixed: number, by: number): number => {
    let found = mixed;
    for (let round = 0; round < 32; round += by) found = mixed ^ (found >>> by);
    return found;
  };
  return Array.from({ length: count }, (_, at) => {
    let hash = Math.imul(unshifted(at << 15, 16), inverse(2_057));
    hash = Math.imul(unshifted(hash, 4), inverse(5));
    hash = Math.imul(unshifted(hash, 12) + 1, inverse(32_767));
    return [hash | 0, at];
  });
}

const FRAMES: readonly (readonly [string, Buffer])[] = [
  ['numbers', filled(count32(0xdd, SIZE), 1)],
  ['lists in lists', filled([], 0x91)],
  [
    'maps in maps',
    Buffer.from(
      many(SIZE / 3, () => '\x81\xa1a'),
      'latin1',
    ),
  ],
  ['empty lists', filled(count32(0xdd, SIZE), 0x90)],
  ['empty maps', filled(count32(0xdd, SIZE), 0x80)],
  ['a list that is said to be huge', filled(count32(0xdd, 0xffffffff), 1)],
  ['a map that is said to be huge', filled(count32(0xdf, 0x7fffffff), 1)],
  ['a text that is said to be huge', filled(count32(0xdb, 0xffffffff), 65)],
  ['an extension that is said to be huge', filled([...count32(0xc9, 0xffffffff), 79], 65)],
  [
    'extensions in extensions',
    Buffer.from(
      many(20_000, (at) => `\xc9${String.fromCharCode(0, (at >> 8) & 255, at & 255, 255)}\x4f\x92`),
      'latin1',
    ),
  ],
  [
    'datetimes',
    Buffer.concat([
      head(...count32(0xdd, SIZE / 20)),
      Buffer.from(
        many(SIZE / 20, () => '\xd8\x4e20200101T00:00:0'),
        'latin1',
      ),
    ]),
  ],
  ['broken text', filled(count32(0xdb, SIZE), 0xff)],
  ['doubled keys', doubled],
  ['keys', wire.pack(keys(6_000, (at) => `key${at}`))],
  [
    'keys of numbers',
    wire.pack(new Map(Array.from({ length: 30_000 }, (_, at) => [at * 65_536, at]))),
  ],
  ['keys of numbers that collide', wire.pack(new Map(colliding(12_000)))],
  ['as many of them as are read', wire.pack(new Map(colliding(2_890)))],
  ['nothing known', filled([], 0xc1)],
];

const VALUES: readonly (readonly [string, SaltValue])[] = [
  ['quotes', `'"\\\n`.repeat(50_000)],
  ['what is not printable', '\u0001\u{e0001}'.repeat(30_000)],
  ['surrogates', '\ud800'.repeat(100_000)],
  ['bytes', Buffer.alloc(200_000, 0xff)],
  ['a list', Array.from({ length: 50_000 }, (_, at) => at)],
  ['a deep list', nested(400, (inner) => [inner, inner === 1 ? 1 : 2])],
  ['a deep map', nested(400, (inner) => new Map([['a', inner]]))],
  ['a map', keys(20_000, (at) => `k${at}`)],
  ['large numbers', Array.from({ length: 10_000 }, () => 2n ** 63n)],
  ['floats', Array.from({ length: 30_000 }, (_, at) => at / 7)],
];

const JSONS: readonly (readonly [string, string])[] = [
  ['brackets', '['.repeat(JSON_SIZE)],
  ['braces', '{"a":'.repeat(JSON_SIZE / 5)],
  ['numbers', `[${'1,'.repeat(40_000)}1]`],
  ['a number', '9'.repeat(JSON_SIZE)],
  ['many numbers', `[${`${'9'.repeat(4_000)},`.repeat(60)}1]`],
  ['digits behind a point', `1.${'0'.repeat(JSON_SIZE)}`],
  ['an exponent', `1e${'9'.repeat(JSON_SIZE)}`],
  ['a text without an end', `"${'\\'.repeat(JSON_SIZE)}`],
  ['escapes', `"${'\\u0041'.repeat(JSON_SIZE / 6)}"`],
  ['spaces', `[${' '.repeat(JSON_SIZE)}`],
  ['spaces between', `[${'1 , '.repeat(30_000)}1]`],
  ['doubled keys', `{${'"a":1,'.repeat(30_000)}"a":1}`],
];

/** Fields of every load, each with a value that could take long. */
function loads(): readonly (readonly [string, SaltMap])[] {
  const names = [
    'cmd id fun arg kwarg tgt tgt_type ret jid user load return fun_args pub token tok enc path',
    'loc gid saltenv grains pillar_override data events tag pretag minions username password',
    'eauth kwargs nonce key sig',
  ].flatMap((some) => some.split(' '));
  return VALUES.map(
    ([name, value]) => [name, new Map(names.map((field) => [field, value]))] as const,
  );
}

const PARSERS = Object.entries(wire).filter(
  (entry): entry is [string, (load: SaltMap) => unknown] => /^parse/.test(entry[0]),
);
const READERS: readonly (readonly [string, (bytes: Buffer) => unknown])[] = [
  ['unpack', wire.unpack],
  ['unpackMap', wire.unpackMap],
  ['scanMap', wire.scanMap],
  ['readEnvelope', (bytes) => wire.readEnvelope(bytes)],
  ['peekEnvelope', (bytes) => wire.peekEnvelope(bytes)],
  ['minionOfSealed', (bytes) => wire.minionOfSealed(bytes, 0)],
  ['readPublication', (bytes) => wire.readPublication(bytes)],
  ['splitEvent', wire.splitEvent],
  ['toBinMap', (bytes) => wire.toBinMap(bytes)],
  ['restampEvent', (bytes) => wire.restampEvent(bytes, '2026-01-01T00:00:00')],
  ['trimEvent', (bytes) => wire.trimEvent(bytes, 1_000)],
  ['cutFields', (bytes) => wire.cutFields(bytes, ['a', 'key1'])],
  ['appendField', (bytes) => wire.appendField(bytes, 'a', 1)],
  ['appendPacked', (bytes) => wire.appendPacked(bytes, 'a', head(1))],
  ['IpcReader', (bytes) => new wire.IpcReader('auto', SIZE).push(bytes)],
  ['PackedMaps', (bytes) => new wire.PackedMaps().set('web1', bytes)],
  ['JsonTranscoder', (bytes) => new wire.JsonTranscoder().read(bytes)],
  ['MapScan', (bytes) => wire.scanMap(bytes).value('a')],
];
const PRINTERS: readonly (readonly [string, (value: SaltValue) => unknown])[] = [
  ['pyRepr', wire.pyRepr],
  ['pyStr', wire.pyStr],
  ['pack', (value) => wire.pack(value)],
  ['toJson', wire.toJson],
  ['masked', wire.masked],
  ['checkLoad', (value) => wire.checkLoad(value)],
  ['sortedValues', (value) => wire.sortedValues(Array.isArray(value) ? value : [value])],
];
const TEXTS: readonly (readonly [string, (text: string) => unknown])[] = [
  ['storableText', (text) => [wire.storableText(text), wire.storableText(text, 200)]],
  ['isIdName', wire.isIdName],
  ['splitLines', wire.splitLines],
  ['strip', wire.strip],
  ['stripEnd', wire.stripEnd],
  ['stripEscapes', wire.stripEscapes],
  ['pyLength', wire.pyLength],
  ['compareText', (text) => wire.compareText(text, `${text}x`)],
  ['readJson', wire.readJson],
];
const LONG_TEXTS = ['a', ' ', '\n', '\0', '\x1b', '\ud800', '😀', '/', '.', ' x'];

/** The same as the load of a request in the clear, and as its id. */
function requests(): readonly (readonly [string, Buffer])[] {
  const begin = Buffer.from('\x83\xa3enc\xa5clear', 'latin1');
  const id = Buffer.from('\xa2id', 'latin1');
  const load = Buffer.from('\xa4load', 'latin1');
  return FRAMES.map(([name, frame]) => [name, Buffer.concat([begin, id, frame, load, frame])]);
}

export const bytes: WorstWork = {
  of: [...PARSERS, ...READERS, ...PRINTERS, ...TEXTS, ['fromJson'] as const].map(
    ([name]) => `wire.${name}`,
  ),
  inputs: () => {
    const all = loads();
    return [
      ...READERS.flatMap(([reader, read]) =>
        FRAMES.map(([name, frame]) => [`${reader}: ${name}`, () => read(frame)] as const),
      ),
      ...requests().flatMap(([name, frame]) => [
        [`a request: ${name}`, () => wire.readEnvelope(frame)] as const,
        [`a request at the door: ${name}`, () => wire.peekEnvelope(frame)] as const,
        [`a sealed request at the door: ${name}`, () => wire.minionOfSealed(frame, 0)] as const,
      ]),
      ...PARSERS.flatMap(([parser, parse]) =>
        all.map(([name, load]) => [`${parser}: ${name}`, () => parse(load)] as const),
      ),
      ...PRINTERS.flatMap(([printer, print]) =>
        VALUES.map(([name, value]) => [`${printer}: ${name}`, () => print(value)] as const),
      ),
      ...TEXTS.flatMap(([reader, read]) =>
        LONG_TEXTS.map(
          (text) =>
            [`${reader}: ${JSON.stringify(text)}`, () => read(text.repeat(100_000))] as const,
        ),
      ),
      ...JSONS.map(([name, text]) => [`readJson: ${name}`, () => wire.readJson(text)] as const),
      ...VALUES.map(([name, value]) => {
        const json: unknown = JSON.parse(wire.toJson(value).json);
        return [`fromJson: ${name}`, () => wire.fromJson(json)] as const;
      }),
    ];
  },
};

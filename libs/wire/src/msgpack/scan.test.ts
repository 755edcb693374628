import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack } from './encode.ts';
import { scanMap } from './scan.ts';
import { unpackMap } from './splice.ts';

/** One text in each form that reads as text. */
const FORMS: readonly ((text: Buffer) => Buffer)[] = [
  (text) => Buffer.concat([Buffer.from([0xa0 | text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xd9, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xda, 0, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xdb, 0, 0, 0, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xc4, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xc5, 0, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xc6, 0, 0, 0, text.length]), text]),
  (text) => Buffer.concat([Buffer.from([0xc7, text.length, 5]), text]),
  (text) => Buffer.concat([Buffer.from([0xc8, 0, text.length, 0xff]), text]),
  (text) => Buffer.concat([Buffer.from([0xc9, 0, 0, 0, text.length, 77]), text]),
  // The fixed lengths are 1, 2, 4, 8 and 16.
  (text) =>
    [1, 2, 4, 8, 16].includes(text.length)
      ? Buffer.concat([Buffer.from([0xd4 + Math.log2(text.length), 1]), text])
      : Buffer.concat([Buffer.from([0xa0 | text.length]), text]),
];
const NAMES = ['id', 'cmd', 'tok', 'nonce', 'x', 'arg', 'token', 'username', 'sixteen-byte-key'];

const entry = fc.tuple(
  fc.constantFrom(...NAMES),
  fc.constantFrom(...FORMS),
  fc.oneof(
    fc.integer().map((number) => pack(number)),
    fc
      .tuple(fc.string({ unit: 'grapheme-ascii', maxLength: 16 }), fc.constantFrom(...FORMS))
      .map(([text, form]) => form(Buffer.from(text))),
    fc.constant(pack([1, 'a'])),
  ),
);

test('scanning a map finds what reading finds, however a name is written or repeated', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 15 }), (entries) => {
      const parts = entries.flatMap(([name, form, value]) => [form(Buffer.from(name)), value]);
      const packed = Buffer.concat([Buffer.from([0x80 | entries.length]), ...parts]);
      const scan = scanMap(packed);
      const read = unpackMap(packed);
      for (const name of NAMES) {
        const value = read.get(name);
        expect(scan.has(name)).toBe(read.has(name));
        expect(scan.value(name)).toEqual(value);
        expect(scan.text(name)).toBe(typeof value === 'string' ? value : undefined);
      }
    }),
    { numRuns: 500 },
  );
});

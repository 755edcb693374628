import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { storableText } from './storable.ts';

describe('storable text', () => {
  it('is well-formed and without NUL, whatever it is made of, and where that is cut', () => {
    const unit = fc.constantFrom('a', '\0', '\ud83d', '\ude00', '😀', 'é', '\u202e', '\n');
    const texts = fc.array(unit, { maxLength: 60 }).map((units) => units.join(''));
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 70 }), (text, max) => {
        const stored = storableText(text, max);
        expect(stored).not.toMatch(/\0|\p{Surrogate}/u);
        expect([...stored].length).toBe(Math.min([...text].length, max + 1));
        expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
      }),
    );
  });

  it('keeps a storable text as it is', () => {
    for (const text of ['', 'web1', '😀é\u202e\x1b[2J\n', 'x'.repeat(1 << 20)]) {
      expect(storableText(text)).toBe(text);
    }
  });

  it('never cuts an emoji into halves', () => {
    for (let max = 0; max < 12; max += 1) {
      expect(storableText('a😀'.repeat(8), max)).toBe(
        `${[...'a😀'.repeat(8)].slice(0, max).join('')}…`,
      );
    }
  });
});

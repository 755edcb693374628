import { readFileSync } from 'node:fs';
import { unpack } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { displayOf } from './display.ts';

interface Recorded {
  /** The value as Salt packed it, hex. */
  readonly packed: string;
  /** By outputter and indentation: the text, or the error that Python raised. */
  readonly shown: Readonly<Record<string, string | { readonly err: string } | null>>;
}

// Random values, and what the outputters of Salt 3008.2 made of them (salt.output.*.output).
const RECORDED = JSON.parse(
  readFileSync(new URL('../../fixtures/displays.json', import.meta.url), 'utf8'),
) as Recorded[];

describe('random values are shown as by Salt 3008.2', () => {
  const names = Object.keys(RECORDED[0]?.shown ?? {});

  it.each(names)('%s', (name) => {
    const [, output = '', indent] = /^([a-z_]+?)(-?\d+)?$/.exec(name) ?? [];
    for (const { packed, shown } of RECORDED) {
      const value = unpack(Buffer.from(packed, 'hex'));
      const options = { color: false, output };
      const display = displayOf(
        value,
        undefined,
        indent === undefined ? options : { ...options, indent: Number(indent) },
      );
      const wanted = shown[name];
      if (typeof wanted === 'object' && wanted !== null) expect(display.failed).toBe(true);
      else expect(display.text).toBe(wanted ?? '');
    }
  });

  it('covers enough values', () => {
    expect(RECORDED.length).toBeGreaterThan(40);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BusError } from '../connection/errors.ts';
import {
  escapeHeader,
  escapeKey,
  escapeToken,
  splitKey,
  unescapeHeader,
  unescapeKey,
  unescapeToken,
} from './escape.ts';

const anyText = fc.string({ unit: 'binary' });

test('every text comes back from its token, and the token is one that NATS takes', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const token = escapeToken(text);
      expect(token).toMatch(/^[A-Za-z0-9_=-]+$/);
      expect(unescapeToken(token)).toBe(text);
    }),
  );
});

test('two texts never have the same token', () => {
  fc.assert(
    fc.property(anyText, anyText, (one, other) => {
      expect(escapeToken(one) === escapeToken(other)).toBe(one === other);
    }),
  );
});

test('whatever is unescaped is the one token of its text', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('=', '4', '1', 'A', 'a', 'C', '3', '.') }),
      (token) => {
        let text: string;
        try {
          text = unescapeToken(token);
        } catch (error) {
          expect(error).toBeInstanceOf(BusError);
          return;
        }
        expect(escapeToken(text)).toBe(token);
      },
    ),
  );
});

test('a key of several texts is taken apart again', () => {
  fc.assert(
    fc.property(anyText, fc.array(anyText, { maxLength: 4 }), (first, more) => {
      expect(splitKey(escapeKey(first, ...more))).toEqual([first, ...more]);
    }),
  );
});

test('dots of a minion id do not make tokens', () => {
  expect(escapeKey('web1.example.com')).toBe('web1=2Eexample=2Ecom');
  expect(escapeKey('aes', '3')).toBe('aes.3');
  expect(escapeKey('')).toBe('=');
  expect(unescapeKey('=')).toBe('');
});

test.each(['=4', '=41', '=zz', 'a b', 'a=2e', '=C3', 'ä', '', '>', '*'])(
  'the key %j, which escapeKey never makes, is refused',
  (key) => {
    expect(() => unescapeKey(key)).toThrow(BusError);
  },
);

test('every text comes back from its header, which is printable ASCII without a blank', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const safe = escapeHeader(text);
      expect(safe).toMatch(/^[!-~]*$/);
      expect(unescapeHeader(safe)).toBe(text);
    }),
  );
});

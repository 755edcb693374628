import { expect, test } from 'vitest';
import { errorText, isRetryable } from './errors.ts';

test('the text of an error is its message, that of another value is the value', () => {
  expect(errorText(new TypeError('bad'))).toBe('bad');
  expect(errorText('bad')).toBe('bad');
  expect(errorText(undefined)).toBe('undefined');
});

test('an error is retryable where it has a field that is true', () => {
  const withField = (retryable: unknown): Error => Object.assign(new Error('x'), { retryable });
  expect(isRetryable(withField(true))).toBe(true);
  expect(isRetryable(withField(false))).toBe(false);
  expect(isRetryable(withField('yes'))).toBe(false);
  expect(isRetryable(new Error('x'))).toBe(false);
  expect(isRetryable({ retryable: true })).toBe(false);
  expect(isRetryable(undefined)).toBe(false);
});

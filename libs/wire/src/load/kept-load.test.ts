import { expect, test } from 'vitest';
import { mapOf } from '../value.ts';
import { withoutCredentials } from './kept-load.ts';

const PROOFS = { key: 'k', token: 't', password: 'p' };

test.each(Object.keys(PROOFS))('%s is kept neither in a load nor in its kwargs', (name) => {
  const kwargs = mapOf({ ...PROOFS, auth_list: ['.*'], eauth: 'pam', delimiter: ':' });
  const load = mapOf({ ...PROOFS, fun: 'test.ping', arg: ['key'], kwargs });
  const kept = withoutCredentials(load);
  expect(kept.has(name)).toBe(false);
  expect(kept).toEqual(
    mapOf({ fun: 'test.ping', arg: ['key'], kwargs: mapOf({ eauth: 'pam', delimiter: ':' }) }),
  );
  // The load that the caller has stays as it came.
  expect(load.get(name)).toBe(PROOFS[name as keyof typeof PROOFS]);
  expect(kwargs.has(name)).toBe(true);
});

test('a load without kwargs, and one with kwargs of another form', () => {
  expect(withoutCredentials(mapOf({ fun: 'x', key: 'k' }))).toEqual(mapOf({ fun: 'x' }));
  expect(withoutCredentials(mapOf({ kwargs: [1] }))).toEqual(mapOf({ kwargs: [1] }));
});

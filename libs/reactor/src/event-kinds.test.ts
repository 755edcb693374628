import { matchGlob } from '@brine/target';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindsFor, wantsJobs } from './event-kinds.ts';

const JID = '20261126120000123456';

test.each([
  ['salt/job/*/ret/*', true],
  ['salt/job/*/ret/web[12]', true],
  ['*', true],
  ['salt/job/????????????????????/ret/db1', true],
  // A minion may have the id `new`, and to Python a star takes slashes.
  ['salt/job/*/new', true],
  ['salt/minion/*/start', false],
  ['salt/auth', false],
  ['salt/job/*/prog/*/*', false],
  ['myco/custom', false],
  ['salt/run/*/ret', false],
])('%s reads returns: %s', (glob, reads) => {
  expect(kindsFor(['salt/key', glob]).includes('ret')).toBe(reads);
});

test('kinds of inner use are never read, and those with free tags always are', () => {
  const kinds = kindsFor(['salt/auth']);
  expect(kinds).toEqual(['minion', 'auth', 'key', 'local', 'syndic', 'job', 'hook']);
});

test.each([
  ['salt/job/*/new', true],
  ['salt/job/*', true],
  ['*/publish', true],
  ['salt/job/*/ret/*', false],
  ['salt/minion/*/start', false],
])('%s reads jobs: %s', (glob, reads) => {
  expect(wantsJobs([glob])).toBe(reads);
});

test('no glob that matches a return or a job goes unread', () => {
  const words = fc.stringMatching(/^[a-z0-9.-]{1,8}$/);
  const tags = fc.oneof(
    words.map((id) => `salt/job/${JID}/ret/${id}`),
    fc.constantFrom(`salt/job/${JID}/new`, `salt/job/${JID}/publish`),
  );
  fc.assert(
    fc.property(tags, fc.array(fc.nat(), { maxLength: 6 }), (tag, cuts) => {
      const glob = globOf(tag, cuts);
      fc.pre(matchGlob(glob, tag));
      const isRead = tag.includes('/ret/') ? kindsFor([glob]).includes('ret') : wantsJobs([glob]);
      expect(isRead).toBe(true);
    }),
  );
});

/** A glob of a text: at some places a star, a question mark or a set stands in its place. */
function globOf(text: string, cuts: readonly number[]): string {
  const chars = [...text];
  for (const cut of cuts) {
    const at = cut % chars.length;
    const char = chars[at] ?? '';
    const kind = cut % 3;
    chars[at] = kind === 0 ? '*' : kind === 1 ? '?' : `[${char}]`;
  }
  return chars.join('');
}

import { expect, test } from 'vitest';
import { refusedAsRoot } from './process-user.ts';

const ROOT = { uid: 0, name: 'root' };

test.each(['salt', 'nobody', '10001', '', 'Root'])('root does not run a master of %j', (user) => {
  expect(refusedAsRoot(user, ROOT)).toContain(`user is ${user}, and this process is root`);
  expect(refusedAsRoot(user, { uid: 0, name: undefined })).toBeDefined();
});

test.each([
  ['root', ROOT],
  ['0', ROOT],
  ['toor', { uid: 0, name: 'toor' }],
  ['salt', { uid: 999, name: 'salt' }],
  // Only root can change its user; the files say what it may.
  ['salt', { uid: 10001, name: undefined }],
  ['salt', { uid: undefined, name: 'Administrator' }],
])('%s as %j goes on', (user, who) => {
  expect(refusedAsRoot(user, who)).toBeUndefined();
});

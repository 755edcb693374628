import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firedTag } from './index.ts';

const JID = '20261120171037123456';

test.each([
  'my/company/deploy',
  'saltstack/x',
  'my/salt/key',
  'my/salt/job/x',
  'zypper/blocked',
  'junos/proxy/10.0.0.1/stop',
  'deploy done/web 1',
  'grüße/aus/köln',
  '/x//y/',
  'minions/a',
  'keys',
  'salty',
])('%j is the own tag of a site', (tag) => expect(firedTag(tag)).toEqual({ kind: 'custom' }));

test.each(['minion_start', 'minion_ping', 'syndic_start', '_salt_error', 'salt/deltaproxy/start'])(
  '%j names no minion',
  (tag) => expect(firedTag(tag)).toEqual({ kind: 'plain' }),
);

test.each([
  ['salt/minion/a/start', false],
  ['salt/syndic/a/start', false],
  ['salt/beacon/a/load/', false],
  ['salt/beacon/a/inotify//etc/../x', false],
  [`salt/state_result/${JID}/a/two\nlines`, false],
  ['minion/refresh/a', false],
  ['resource/refresh/a', false],
  [`salt/job/${JID}/prog/a/1`, true],
  [`salt/job/${JID}_4711/prog/a/12`, true],
  [`salt/job/${JID}/start/a`, true],
])('%j is about the minion that it names', (tag, job) =>
  expect(firedTag(tag)).toEqual({ kind: 'named', id: 'a', job }),
);

test.each([`syndic/a/salt/job/${JID}/new`, 'syndic/a/x'])('%j is the report of a syndic', (tag) =>
  expect(firedTag(tag)).toEqual({ kind: 'below', id: 'a' }),
);

const RESERVED = [
  ...['new', 'publish', 'return', 'error', 'ret/a', 'ret/b', 'sub/a/error/x', 'x', 'prog/a/x'].map(
    (step) => `salt/job/${JID}/${step}`,
  ),
  ...['salt/job', 'salt/job/1/prog/a/1', 'salt/job/error', 'salt/auth', 'salt/auth/creds'],
  ...['salt/key', 'salt/cloud/x', 'salt/run/', `salt/run/${JID}/ret`, 'salt/cluster/x/y'],
  ...['salt/wheel/1/new', 'salt/presence/change', `salt/batch/${JID}/new`],
  ...[JID, `${JID}_12`, `${JID}/x`, 'new_job', 'key', 'cluster/peer', 'syndic', 'syndic/a'],
  ...['__schedule_return', '__beacons_return', 'salt', 'minion'],
];

test.each(RESERVED)('%j is for the master alone', (tag) =>
  expect(firedTag(tag)).toEqual({ kind: 'reserved' }),
);

test.each(['salt/engines/hook/x', 'salt/netapi/x', 'salt/minion/a/other', 'salt/x', 'minion/x'])(
  '%j is of Salt and on no list',
  (tag) => expect(firedTag(tag)).toEqual({ kind: 'unlisted' }),
);

test.each(['', 'a\n\nb', 'a\0', '\ud800', 'x'.repeat(8_193)])('%j is no tag', (tag) =>
  expect(firedTag(tag)).toEqual({ kind: 'unfit' }),
);

/** Ways to write the same path that some reader, or some eye, takes for it. */
const DRESSES: readonly ((tag: string) => string)[] = [
  (tag) => `/${tag}`,
  (tag) => `./${tag}`,
  (tag) => `x/../${tag}`,
  (tag) => `../${tag}`,
  (tag) => ` ${tag}`,
  (tag) => `\n${tag}`,
  (tag) => `\u200b${tag}`,
  (tag) => `\ufeff${tag}`,
  (tag) => tag.replace('/', '//'),
  (tag) => tag.replace('/', '/./'),
  (tag) => tag.replace('/', '/x/../'),
  (tag) => tag.replaceAll('/', '\\'),
  (tag) => tag.replace('/', ' / '),
  (tag) => `${tag}/`,
  (tag) => `${tag}\n`,
  (tag) => tag.toUpperCase(),
  (tag) =>
    tag.replaceAll(/[a-z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)),
];

test('however it is dressed, a tag of the master is no site tag and opens to no option', () => {
  const dress = fc.constantFrom(...DRESSES);
  fc.assert(
    fc.property(fc.constantFrom(...RESERVED), dress, dress, (tag, first, second) => {
      expect(['reserved', 'unfit', 'below']).toContain(firedTag(second(first(tag))).kind);
    }),
    { numRuns: 2_000 },
  );
});

test('any text is judged', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (tag) => firedTag(tag).kind.length > 0));
});

import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { ReactorMap, UNCHANGED, withAdded, withRemoved } from './reactor-map.ts';

const LIST: SaltValue = [
  mapOf({ 'salt/minion/*/start': ['/srv/start.sls', '/srv/monitor.sls'] }),
  mapOf({ 'salt/*': '/srv/all.sls' }),
  mapOf({ 'myco/[ab]?': ['/srv/custom/*.sls'] }),
];

test('the files of all entries that match come in the order of the list', () => {
  const map = new ReactorMap(LIST);
  expect(map.filesFor('salt/minion/web1/start')).toEqual([
    '/srv/start.sls',
    '/srv/monitor.sls',
    '/srv/all.sls',
  ]);
  expect(map.filesFor('salt/auth')).toEqual(['/srv/all.sls']);
  expect(map.filesFor('myco/b1')).toEqual(['/srv/custom/*.sls']);
  expect(map.filesFor('myco/c1')).toEqual([]);
  expect(map.wants('myco/b1')).toBe(true);
  expect(map.wants('Salt/auth')).toBe(false);
});

test('a glob is that of Python: a star takes slashes, and case counts', () => {
  const map = new ReactorMap([mapOf({ 'a*z': '/x' })]);
  expect(map.wants('a/b/c/z')).toBe(true);
  expect(map.wants('A/z')).toBe(false);
});

test('what is no entry reacts to nothing, and is told', () => {
  const map = new ReactorMap([
    'text',
    mapOf({ a: '/a', b: '/b' }),
    mapOf({ c: ['/c', 5] }),
    mapOf({ d: null }),
    mapOf({}),
  ]);
  expect(map.globs).toEqual(['c', 'd']);
  expect(map.filesFor('c')).toEqual(['/c']);
  expect(map.wants('d')).toBe(false);
  expect(map.problems).toEqual([
    'reactor: item 1 is no map of one tag, so it reacts to nothing',
    'reactor: item 2 is no map of one tag, so it reacts to nothing',
    "reactor: 'c' names 5, which is no path",
    "reactor: 'd' names no files",
    'reactor: item 5 is no map of one tag, so it reacts to nothing',
  ]);
  expect(new ReactorMap('text').problems).toEqual(['reactor: is no list, so nothing of it reacts']);
  expect(new ReactorMap(null).problems).toEqual([]);
});

test('an entry is added once, and shown as it was given', () => {
  const map = new ReactorMap(LIST);
  const changes = withAdded(UNCHANGED, map, 'new/*', ['/srv/new.sls']);
  if (typeof changes === 'string') throw new Error(changes);
  const after = new ReactorMap(LIST, changes);
  expect(after.list().at(-1)).toEqual(mapOf({ 'new/*': ['/srv/new.sls'] }));
  expect(after.list()[1]).toEqual(mapOf({ 'salt/*': '/srv/all.sls' }));
  expect(after.filesFor('new/1')).toEqual(['/srv/new.sls']);
  expect(withAdded(changes, after, 'new/*', [])).toBe('Reactor already exists.');
  expect(withAdded(changes, after, 'salt/*', [])).toBe('Reactor already exists.');
});

test('an entry of the configuration that was taken out comes back when it is added', () => {
  const map = new ReactorMap(LIST);
  const removed = withRemoved(UNCHANGED, map, 'salt/*');
  if (typeof removed === 'string') throw new Error(removed);
  const without = new ReactorMap(LIST, removed);
  expect(without.wants('salt/auth')).toBe(false);
  expect(withRemoved(removed, without, 'salt/*')).toBe('Reactor does not exists.');
  const added = withAdded(removed, without, 'salt/*', ['/srv/other.sls']);
  if (typeof added === 'string') throw new Error(added);
  const again = new ReactorMap(LIST, added);
  expect(again.filesFor('salt/auth')).toEqual(['/srv/other.sls']);
  const gone = withRemoved(added, again, 'salt/*');
  if (typeof gone === 'string') throw new Error(gone);
  expect(new ReactorMap(LIST, gone).wants('salt/auth')).toBe(false);
  expect(gone.added).toEqual([]);
});

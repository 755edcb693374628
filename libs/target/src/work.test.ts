import { expect, test } from 'vitest';
import type { Data, TargetView } from './index.ts';
import { checkMinions, dataNeeded, expandNodegroup, matchMinion, WorkError } from './index.ts';

function view(ids: readonly string[], grains: (id: string) => Data = () => ({})): TargetView {
  const accepted = new Set(ids);
  return { accepted, grains, pillar: () => ({}), nodegroups: {}, cacheless: 'drop' };
}
const fleet = (size: number): string[] => Array.from({ length: size }, (_, at) => `web${at}`);
const words = (count: number, word: string, between: string): string =>
  Array.from({ length: count }, () => word).join(between);

test.each([
  ['pcre', '(w|w)*(e|e)*\\1\\2(?:.|.)*z'],
  ['compound', words(100_000, 'web*', ' or ')],
  ['compound', words(20_000, '*w*e*x', ' and not ')],
  ['list', words(200_000, 'web1', ',')],
  ['grain', 'x'.repeat(100_000)],
])('a master refuses a %s target that takes too much work', (tgtType, tgt) => {
  const ids = fleet(1_000).map((id) => 'w'.repeat(60) + id);
  expect(() => checkMinions({ tgt, tgtType }, view(ids))).toThrow(WorkError);
});

test('a minion does not run what takes too much work to judge', () => {
  const me = { id: 'a'.repeat(60), grains: {}, pillar: {} };
  expect(matchMinion({ tgt: '(a|a)*\\1b', tgtType: 'pcre' }, me)).toBe(false);
});

test('honest targets of a large fleet are judged', () => {
  const ids = fleet(20_000);
  const all = view(ids, (id) => ({ os: 'Debian', id, ipv6: ['fe80::1', '2001:db8::7', '::1'] }));
  const count = (tgt: string, tgtType: string): number =>
    checkMinions({ tgt, tgtType }, all).minions.length;
  const even = ids.filter((id) => /^(?!db)web\d+(?<=[02468]$)/.test(id));
  expect(count('(?!db)web\\d+(?<=[02468])$', 'pcre')).toBe(even.length);
  expect(count(ids.join(','), 'list')).toBe(20_000);
  expect(count(ids.slice(0, 5_000).join(' or '), 'compound')).toBe(5_000);
  expect(count(ids.slice(0, 1_000).join('|'), 'pcre')).toBe(20_000);
  expect(count('fe80::/10', 'ipcidr')).toBe(20_000);
  const terms = 'web* and G@os:Debian and not G@os:Arch and P@id:web.* and E@web.*';
  expect(count(terms, 'compound')).toBe(20_000);
});

test('one minion with long grains does not spoil a target for the others', () => {
  const long = Array.from({ length: 100_000 }, (_, at) => at);
  const ids = fleet(100);
  const mixed = view(ids, (id) => ({ os: id === 'web7' ? long : 'Debian' }));
  const { minions } = checkMinions({ tgt: 'os:Deb*', tgtType: 'grain' }, mixed);
  expect(minions).toEqual(ids.filter((id) => id !== 'web7'));
  const hostile = view(ids, () => ({ os: long }));
  expect(() => checkMinions({ tgt: 'os:Deb*', tgtType: 'grain' }, hostile)).toThrow(WorkError);
});

test('a path and data that fit each other in very many ways are stopped', () => {
  let data: unknown = 'x';
  for (let at = 0; at < 60; at += 1) data = { a: data };
  const tgt = `${words(60, 'a', ':')}:b`;
  const deep = view(fleet(2), () => data);
  expect(() => checkMinions({ tgt, tgtType: 'grain' }, deep)).toThrow(WorkError);
});

test('groups of groups that double are stopped, also those that stand for nothing', () => {
  const groups = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`g${at}`, `N@g${at + 1} N@g${at + 1}`]),
  );
  expect(() => expandNodegroup('g0', groups)).toThrow(WorkError);
  expect(() => dataNeeded({ tgt: 'N@g0', tgtType: 'compound' }, groups)).toThrow(WorkError);
});

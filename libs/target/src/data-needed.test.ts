import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkMinions, type DataNeeded, dataNeeded } from './index.ts';

const NODEGROUPS = {
  ids: 'web* and not E@db.',
  deb: 'N@ids and G@os:Debian',
  secret: ['N@deb', 'or', 'I@role:db'],
  loop: 'N@loop or web1',
};

const cases: readonly [unknown, string, DataNeeded][] = [
  ['*', 'glob', 'nothing'],
  ['web1,web2', 'list', 'nothing'],
  ['os:Debian', 'grain', 'grains'],
  ['10.0.0.0/8', 'ipcidr', 'grains'],
  ['role:db', 'pillar_exact', 'grains and pillar'],
  ['web* or L@db1,db2 or ( E@x and not N@ids )', 'compound', 'nothing'],
  [['web1', 'or', 'S@10.0.0.1'], 'compound', 'grains'],
  ['web* and G|@os|Debian', 'compound', 'grains'],
  ['web1 and N@deb', 'compound', 'grains'],
  ['G@os:x or J@role:.*', 'compound_pillar_exact', 'grains and pillar'],
  ['secret', 'nodegroup', 'grains and pillar'],
  ['loop', 'nodegroup', 'nothing'],
  ['gone', 'nodegroup', 'nothing'],
  [7, 'compound', 'nothing'],
  ['x', 'toString', 'nothing'],
];
test.each(cases)('%j as %s needs %s', (tgt, tgtType, needed) => {
  expect(dataNeeded({ tgt, tgtType }, NODEGROUPS)).toBe(needed);
});

const terms = ['web*', 'L@a,b', 'G@os:x', 'P@os:x', 'S@10.0.0.1', 'I@a:b', 'J|@a|b', 'R@%x', 'G@'];
const groups = Object.keys(NODEGROUPS).map((name) => `N@${name}`);
const word = fc.constantFrom(...terms, ...groups, 'N@', 'and', 'or', 'not', '(', ')');
const types = ['glob', 'list', 'pcre', 'grain', 'pillar', 'pillar_pcre', 'ipcidr'] as const;
const asked = fc.oneof(
  fc.record({
    tgt: fc.oneof(
      fc.array(word),
      fc.array(word).map((words) => words.join(' ')),
    ),
    tgtType: fc.constantFrom('compound', 'compound_pillar_exact'),
  }),
  fc.record({
    tgt: fc.constantFrom(...terms, ...Object.keys(NODEGROUPS), 'a:b'),
    tgtType: fc.constantFrom(...types, 'nodegroup', 'other'),
  }),
);

test('no target looks at data that it does not need', () => {
  fc.assert(
    fc.property(asked, (target) => {
      const needed = dataNeeded(target, NODEGROUPS);
      const looked = new Set<string>();
      const look = (bank: string) => () => {
        looked.add(bank);
        return { os: 'x', a: 'b' };
      };
      checkMinions(target, {
        accepted: new Set(['web1', 'a']),
        grains: look('grains'),
        pillar: look('pillar'),
        nodegroups: NODEGROUPS,
        cacheless: 'drop',
      });
      if (looked.has('grains')) expect(needed).not.toBe('nothing');
      if (looked.has('pillar')) expect(needed).toBe('grains and pillar');
    }),
    { numRuns: 300 },
  );
});

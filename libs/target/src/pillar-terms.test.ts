import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkMinions, pillarTerms, type TargetView } from './index.ts';

const GROUPS = {
  plain: 'web*',
  exact: 'I@role:web',
  glob: 'I@role:w*',
  deep: 'not ( N@glob or db1 )',
  list: ['J@role:w.'],
};
const NO_TERMS = { terms: [], inexact: [] };

test.each([
  ['*', 'glob'],
  ['I@role:w*', 'glob'],
  ['role:w*', 'grain'],
  ['G@role:w* and P@os:.* or S@10.0.0.0/8 or L@I@x', 'compound'],
  ['plain', 'nodegroup'],
  ['nope', 'nodegroup'],
  ['role:w*', 'other'],
])('%s as %s asks nothing of pillars', (tgt, tgtType) => {
  expect(pillarTerms({ tgt, tgtType }, GROUPS)).toEqual(NO_TERMS);
});

test.each([
  ['role:web', 'pillar', ['I:@role:web']],
  ['role:web', 'PILLAR', ['I:@role:web']],
  ['role:web', 'pillar_exact', ['I:@role:web']],
  ['I@role:web', 'compound', ['I:@role:web']],
  ['not ( db1 or ( not I|@role|web ) )', 'compound_pillar_exact', ['I|@role|web']],
  ['N@exact and web1', 'compound', ['I:@role:web']],
  ['exact', 'nodegroup', ['I:@role:web']],
])('%s as %s is exact', (tgt, tgtType, terms) => {
  expect(pillarTerms({ tgt, tgtType }, GROUPS)).toEqual({ terms, inexact: [] });
});

test.each([
  ['role:w*', 'pillar', 'I:@role:w*'],
  ['role:w?b', 'Pillar', 'I:@role:w?b'],
  ['role:[a-m]*', 'pillar_exact', 'I:@role:[a-m]*'],
  ['role:web', 'pillar_pcre', 'J:@role:web'],
  ['role:web', 'PILLAR_PCRE', 'J:@role:web'],
  [['role:web'], 'pillar_pcre', 'J:@role:web'],
  ['not J@role:web', 'compound', 'J:@role:web'],
  [['not', 'J@role:web'], 'Compound', 'J:@role:web'],
  ['web1 and ( not ( db1 and ( J@role:w. ) ) )', 'compound_pillar_exact', 'J:@role:w.'],
  ['I*@role*web', 'compound', 'I*@role*web'],
  ['I@*:web', 'compound', 'I:@*:web'],
  ['N@deep', 'compound', 'I:@role:w*'],
  ['deep', 'nodegroup', 'I:@role:w*'],
  ['list', 'NODEGROUP', 'J:@role:w.'],
])('%j as %s is not exact', (tgt, tgtType, term) => {
  expect(pillarTerms({ tgt, tgtType }, GROUPS)).toEqual({ terms: [term], inexact: [term] });
});

const IDS = ['db1', 'web1', 'web2', 'web3'];
const TERMS = ['web*', 'db1', 'L@web1,web2', 'I@a:1', 'I@a:2', 'I@b:1', 'N@exact', 'G@os:x'];

/** Compound expressions of any shape. */
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...TERMS),
    fc
      .tuple(tie('tree'), fc.constantFrom('and', 'or'), tie('tree'))
      .map((words) => words.join(' ')),
    tie('tree').map((inner) => `not ( ${inner} )`),
    tie('tree').map((inner) => `( ${inner} )`),
    fc.constantFrom(...TERMS).map((term) => `not ${term}`),
  ),
}));
const pillar = fc.record({
  a: fc.constantFrom('1', '2', '3'),
  b: fc.constantFrom('1', '2'),
  role: fc.constantFrom('web', 'db'),
});
const pillars = fc.array(pillar, { minLength: IDS.length, maxLength: IDS.length });

function viewOf(held: readonly object[], whateverPillars?: ReadonlySet<string>): TargetView {
  return {
    accepted: new Set(IDS),
    grains: (id) => new Map([['os', id === 'web3' ? 'x' : 'y']]),
    pillar: (id) => new Map(Object.entries(held[IDS.indexOf(id)] ?? {})),
    nodegroups: GROUPS,
    cacheless: 'drop',
    ...(whateverPillars && { whateverPillars }),
  };
}

test('the minions that a target could mean include those it means, whatever the pillars', () => {
  const property = fc.property(tree, pillars, pillars, (tgt, one, other) => {
    const target = { tgt, tgtType: 'compound' };
    const could = checkMinions(target, viewOf(one, new Set())).minions;
    expect(checkMinions(target, viewOf(other, new Set())).minions).toEqual(could);
    for (const held of [one, other]) {
      expect(could).toEqual(expect.arrayContaining(checkMinions(target, viewOf(held)).minions));
    }
    // Where no term is left open it is the target itself.
    const { terms } = pillarTerms(target, GROUPS);
    const spared = checkMinions(target, viewOf(one, new Set(terms))).minions;
    expect(spared).toEqual(checkMinions(target, viewOf(one)).minions);
  });
  fc.assert(property, { numRuns: 3_000 });
});

test.each(['pillar', 'pillar_exact'])('a target as %s could mean every minion', (tgtType) => {
  const target = { tgt: 'a:1', tgtType };
  expect(checkMinions(target, viewOf([], new Set())).minions).toEqual(IDS);
});

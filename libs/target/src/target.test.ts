import { isIPv4 } from 'node:net';
import { cpuMs } from '@brine/testing/waits';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TargetView } from './index.ts';
import { checkMinions, compileSubdict, expandNodegroup, matchMinion } from './index.ts';

// As wire's SaltFloat: 1.0 stays a float.
class WholeFloat {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

const GRAINS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  [
    'web1',
    new Map<string, unknown>([
      ['os', 'Debian'],
      ['roles', ['web', 'cache']],
      ['ipv4', ['10.0.0.5']],
    ]),
  ],
  ['web2', { os: 'Ubuntu', roles: ['web'], ipv4: ['10.0.1.5'], ipv6: ['fe80::2'] }],
  ['db1', { os: 'Debian', ports: new Map([[8080, 'tcp']]), size: new WholeFloat(1) }],
  ['new1', undefined],
]);
const view = (over: Partial<TargetView> = {}): TargetView => ({
  accepted: new Set(GRAINS.keys()),
  grains: (id) => GRAINS.get(id),
  pillar: (id) => (id === 'web1' ? { secret: { level: 'High' } } : undefined),
  nodegroups: { web: 'web* and G@os:Debian', all: ['N@web', 'or', 'db1'], loop: 'N@loop db1' },
  cacheless: 'drop',
  ...over,
});
const minionsOf = (tgt: unknown, tgtType = 'compound', over: Partial<TargetView> = {}): string[] =>
  checkMinions({ tgt, tgtType }, view(over)).minions.sort();

test('the pattern of a value is also that of a key', () => {
  const nested = { nested: { abc: 1, D: { x: 2 } } };
  const found = (expression: string, comparison: 'glob' | 'regex' | 'exact'): boolean =>
    compileSubdict(expression, comparison)(nested);
  expect([found('nested:[!d]*', 'glob'), found('nested:[!ad]*', 'glob')]).toEqual([true, false]);
  expect([found('nested:A.C', 'regex'), found('nested:b', 'regex')]).toEqual([true, false]);
  expect([found('nested:d', 'exact'), found('nested:a', 'exact')]).toEqual([true, false]);
});

test('a number finds no key that is text in the members of a list', () => {
  // With `:` the members would be asked for the text as well.
  const find = compileSubdict('ports|8080|udp', 'glob', '|');
  expect(find({ ports: [{ '8080': 'udp' }] })).toBe(false);
  expect(find({ ports: [new Map([['8080', 'udp']])] })).toBe(false);
  expect(find({ ports: [new Map([[8080, 'udp']])] })).toBe(true);
});

test('a minion without grains is not known to targets by pillar either', () => {
  const known = { pillar: () => ({ secret: { level: 'high' } }) };
  expect(minionsOf('secret:level:high', 'pillar', known)).toEqual(['db1', 'web1', 'web2']);
  expect(minionsOf('I@secret:level:low', 'compound', { ...known, cacheless: 'keep' })).toEqual([
    'new1',
  ]);
});

test('a network takes only addresses, and of those its own', () => {
  const parts = fc.array(
    fc.constantFrom('0', '1', '01', '10', '128', '255', '256', '', 'x', ' 1'),
    {
      minLength: 3,
      maxLength: 5,
    },
  );
  const within = (tgt: string, text: string): boolean =>
    matchMinion({ tgt, tgtType: 'ipcidr' }, { id: 'me', grains: { ipv4: [text] }, pillar: {} });
  fc.assert(
    fc.property(parts, (all) => {
      const text = all.join('.');
      expect(within('0.0.0.0/0', text)).toBe(isIPv4(text));
      expect(within('128.0.0.0/1', text)).toBe(isIPv4(text) && Number(all[0]) >= 128);
      expect(within('10.1.0.0/16', text)).toBe(isIPv4(text) && text.startsWith('10.1.'));
      expect(within('10.1.1.10/32', text)).toBe(text === '10.1.1.10');
    }),
    { numRuns: 2_000 },
  );
});

test('thousands of terms are judged', () => {
  const many = Array.from({ length: 12_000 }, (_, n) => `L@nobody${n}`).join(' or ');
  expect(minionsOf(`${many} or web1`)).toEqual(['web1']);
  const all = Array.from({ length: 12_000 }, () => 'web*').join(' and ');
  expect(minionsOf(`${all} and not web2`)).toEqual(['web1']);
});

describe('a master expects', () => {
  test.each([
    ['web*', 'glob', ['web1', 'web2']],
    ['w.b[12]', 'pcre', ['web1', 'web2']],
    ['os:debian', 'grain', ['db1', 'web1']],
    ['ports:8080:tcp', 'grain', ['db1']],
    ['size:1.0', 'grain', ['db1']],
    ['roles:c.*e', 'grain_pcre', ['web1']],
    ['secret:level:h*', 'pillar', ['web1']],
    ['secret:level:h', 'pillar_pcre', ['web1']],
    ['secret:level:high', 'pillar_exact', ['web1']],
    ['10.0.0.0/24', 'ipcidr', ['web1']],
    ['fe80::2', 'ipcidr', ['web2']],
    ['web', 'nodegroup', ['web1']],
    ['all', 'nodegroup', ['db1', 'web1']],
    ['loop', 'nodegroup', ['db1']],
    ['%web', 'range', ['db1', 'new1', 'web1', 'web2']],
    ['web* and not G@os:Debian', 'compound', ['web2']],
    ['not ( web* or db* )', 'compound', ['new1']],
    ['web1 or web2 and db1', 'compound', ['web1']],
    ['T@ssh or M@web1', 'compound', []],
    ['R@x and db*', 'compound', ['db1']],
  ])('%j (%s): %j', (tgt, type, expected) => {
    expect(minionsOf(tgt, type)).toEqual(expected);
  });
  test.each([
    ['[', 'pcre'],
    ['web1 web2', 'compound'],
    ['or web1', 'compound'],
    ['( and web1 )', 'compound'],
    ['web1 )', 'compound'],
    [7, 'compound'],
    [['web1'], 'glob'],
    ['x', 'no_such_type'],
    ['nobody', 'nodegroup'],
  ])('no minion for the broken %j (%s)', (tgt, type) => {
    expect(checkMinions({ tgt, tgtType: type }, view())).toEqual({ minions: [], missing: [] });
  });
  test('no minion for parentheses without end', () => {
    expect(minionsOf(`${'( '.repeat(5_000)} web1`)).toEqual([]);
  });
  test('ids of a list without a key are missing, unless they are excluded', () => {
    expect(checkMinions({ tgt: ['web1', 'gone'], tgtType: 'list' }, view())).toEqual({
      minions: ['web1'],
      missing: ['gone'],
    });
    const missing = (tgt: string) => checkMinions({ tgt, tgtType: 'compound' }, view()).missing;
    expect(missing('L@gone or db1')).toEqual(['gone']);
    expect(missing('db1 and not L@gone')).toEqual([]);
  });
  test('minions without data are left out or kept, by the view', () => {
    expect(minionsOf('os:Debian', 'grain', { cacheless: 'keep' })).toContain('new1');
    expect(minionsOf('os:Debian', 'grain', { cacheless: 'keep', greedy: false })).toEqual([
      'db1',
      'web1',
    ]);
    expect(minionsOf('os:Debian', 'grain', { dataCache: false })).toHaveLength(4);
    expect(minionsOf('web1', 'compound', { dataCache: false })).toHaveLength(4);
  });
  test('a target over 100,000 minions does not take long', () => {
    const accepted = new Set(Array.from({ length: 100_000 }, (_, i) => `web${i}.example.com`));
    const big = view({ accepted, grains: () => ({ os: 'Debian' }) });
    for (const tgt of ['web*5.*', 'E@web[0-9]+5[.].*', 'G@os:Deb* and not web1*', 'L@web1,web2']) {
      const before = cpuMs();
      expect(checkMinions({ tgt, tgtType: 'compound' }, big).minions.length).toBeGreaterThanOrEqual(
        0,
      );
      expect(cpuMs() - before).toBeLessThan(10_000);
    }
  });
});

describe('a minion', () => {
  const me = { id: 'web1', grains: GRAINS.get('web1'), pillar: {} };
  test.each([
    [{ tgt: 'web*' }, true],
    [{ tgt: ['web1'] }, false],
    [{ tgt: 'db1,web1', tgtType: 'list' }, true],
    [{ tgt: 'os|Deb*', tgtType: 'grain', delimiter: '|' }, true],
    [{ tgt: 'web', tgtType: 'nodegroup' }, false],
    [{ tgt: 'x', tgtType: 'range' }, false],
    [{ tgt: 'R@x or web1', tgtType: 'compound' }, false],
    [{ tgt: '( web1', tgtType: 'compound' }, false],
    [{ tgt: 'web1 or db1 ( db2 )', tgtType: 'compound' }, true],
    [{ tgt: 'db1 or web1 ( db2 )', tgtType: 'compound' }, false],
    [{ tgt: 'not db1 not db2', tgtType: 'compound' }, true],
    [{ tgt: 'not not web1', tgtType: 'compound' }, false],
  ])('judges %j: %s', (target, expected) => {
    expect(matchMinion(target, me)).toBe(expected);
  });
  test('a prototype is never reached', () => {
    const match = compileSubdict('constructor:*', 'glob');
    expect(match({})).toBe(false);
    expect(compileSubdict('__proto__:*', 'glob')({ a: 1 })).toBe(false);
    expect(expandNodegroup('constructor', {})).toEqual([]);
  });
});

test('minion and master agree on every sound expression', () => {
  const term = fc.constantFrom('web*', 'G@os:Debian', 'L@web1,db1', 'E@.*1', 'S@10.0.0.0/8', 'db1');
  const { expr } = fc.letrec<{ expr: string }>((tie) => ({
    expr: fc.oneof(
      { maxDepth: 5 },
      term,
      fc.tuple(tie('expr'), fc.constantFrom('and', 'or'), tie('expr')).map((w) => w.join(' ')),
      tie('expr').map((text) => `( ${text} )`),
      tie('expr').map((text) => `not ( ${text} )`),
    ),
  }));
  const all = view({ accepted: new Set(['web1', 'web2', 'db1']) });
  fc.assert(
    fc.property(expr, (tgt) => {
      const expected = checkMinions({ tgt, tgtType: 'compound' }, all).minions;
      for (const id of all.accepted) {
        const me = { id, grains: all.grains(id), pillar: all.pillar(id) };
        expect(matchMinion({ tgt, tgtType: 'compound' }, me)).toBe(expected.includes(id));
      }
    }),
  );
});

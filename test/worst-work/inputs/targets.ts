import {
  checkMinions,
  compileSubdict,
  dataNeeded,
  expandNodegroup,
  matchMinion,
  pillarTerms,
  type Target,
  type TargetView,
  withoutNodegroups,
} from '@brine/target';
import { many, type WorstWork } from '../worst.ts';

const DEEP = 200;
function deep(levels: number): unknown {
  let inner: unknown = { z: 'a' };
  for (let at = 0; at < levels; at += 1) inner = { a: inner, b: [inner] };
  return inner;
}
const IDS = Array.from({ length: 500 }, (_, at) => `web${at}.example.com`);
const GROUPS = {
  ...Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`g${at}`, `N@g${at + 1} or N@g${at + 1}`]),
  ),
  ...Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`e${at}`, `N@e${at + 1} N@e${at + 1}`]),
  ),
  all: many(60, (at) => `N@r${at}`, ' or '),
  ...Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [`r${at}`, many(60, (to) => `N@r${to}`, ' or ')]),
  ),
};
const HOSTILE = {
  a: deep(DEEP),
  list: Array.from({ length: 200_000 }, (_, at) => at),
  long: 'a'.repeat(2_000_000),
  ipv4: Array.from({ length: 100_000 }, (_, at) => `10.${at % 250}.0.1`),
  ipv6: Array.from({ length: 100_000 }, (_, at) => `fe80::${at % 250}`),
  nested: Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => ({ k: ['x', 1.5] }))),
};

function view(grains: unknown): TargetView {
  return {
    accepted: new Set(IDS),
    grains: () => grains,
    pillar: () => grains,
    nodegroups: GROUPS,
    cacheless: 'drop',
  };
}

const A_PATH = many(60, () => 'a', ':');
const TARGETS: readonly Target[] = [
  { tgtType: 'glob', tgt: '*e'.repeat(5_000) },
  { tgtType: 'glob', tgt: '*[a-z]'.repeat(5_000) },
  { tgtType: 'pcre', tgt: '(w|e|b|\\w)*(?=z)' },
  { tgtType: 'pcre', tgt: '(.|.|.)*(.)\\2z' },
  { tgtType: 'pcre', tgt: `(?!db)${'(?:\\w|\\W)*'.repeat(20)}z` },
  { tgtType: 'grain', tgt: A_PATH },
  { tgtType: 'grain', tgt: `*:${A_PATH}` },
  { tgtType: 'grain', tgt: many(60, () => '*', ':') },
  { tgtType: 'grain', tgt: 'list:*9*9*9*9*x' },
  { tgtType: 'grain', tgt: 'nested:*:x' },
  { tgtType: 'grain', tgt: `long:${'*a'.repeat(1_000)}b` },
  { tgtType: 'grain', tgt: 'x'.repeat(10_000_000) },
  { tgtType: 'grain', tgt: 'a:b', delimiter: 'x'.repeat(1_000_000) },
  { tgtType: 'grain_pcre', tgt: 'long:(a|a)*b' },
  { tgtType: 'grain_pcre', tgt: 'list:(\\d|\\d\\d)*x' },
  { tgtType: 'grain_pcre', tgt: many(60, () => '(?:a{30}){30}', ':') },
  { tgtType: 'pillar_pcre', tgt: `a:${'(?:b|a)*'.repeat(500)}` },
  { tgtType: 'pillar_exact', tgt: A_PATH },
  { tgtType: 'ipcidr', tgt: '0.0.0.0/0' },
  { tgtType: 'ipcidr', tgt: 'fe80::/10' },
  { tgtType: 'ipcidr', tgt: '1.'.repeat(1_000_000) },
  { tgtType: 'ipcidr', tgt: `${'f:'.repeat(100_000)}/64` },
  { tgtType: 'list', tgt: many(2_000_000, () => '', ',') },
  { tgtType: 'list', tgt: many(500_000, (at) => `${at}`, ',') },
  { tgtType: 'list', tgt: Array.from({ length: 500_000 }, (_, at) => at) },
  { tgtType: 'list', tgt: [[[IDS]], new Map([[IDS, IDS]])] },
  { tgtType: 'compound', tgt: '( '.repeat(100_000) },
  { tgtType: 'compound', tgt: `${'( '.repeat(150)}web*${' )'.repeat(150)}` },
  { tgtType: 'compound', tgt: 'not '.repeat(50_000) + 'web*' },
  { tgtType: 'compound', tgt: many(100_000, (at) => `x${at}`, ' or ') },
  { tgtType: 'compound', tgt: many(10_000, () => '*e*e*e*x', ' or ') },
  { tgtType: 'compound', tgt: many(5_000, () => 'T@x', ' or ') },
  { tgtType: 'compound', tgt: many(3_000, (at) => `E@(a|b){${at}}`, ' or ') },
  { tgtType: 'compound', tgt: many(100, () => 'E@(?:(?:a{30}){30}){9}', ' or ') },
  { tgtType: 'compound', tgt: many(2_000, () => `G@${A_PATH}`, ' or ') },
  { tgtType: 'compound', tgt: many(2_000, () => 'N@r0', ' or ') },
  { tgtType: 'compound', tgt: many(30, () => `L@${many(10_000, () => 'x', ',')}`, ' or ') },
  { tgtType: 'compound', tgt: ' '.repeat(10_000_000) },
  { tgtType: 'compound', tgt: Array.from({ length: 500_000 }, () => 'or') },
  { tgtType: 'nodegroup', tgt: 'g0' },
  { tgtType: 'nodegroup', tgt: 'e0' },
  { tgtType: 'nodegroup', tgt: 'all' },
  { tgtType: 'range', tgt: '%'.repeat(1_000_000) },
];

export const targets: WorstWork = {
  of: [
    'checkMinions',
    'matchMinion',
    'dataNeeded',
    'expandNodegroup',
    'withoutNodegroups',
    'compileSubdict',
    'pillarTerms',
  ].map((name) => `target.${name}`),
  inputs: () => [
    ...TARGETS.flatMap((target) => {
      const name = `${target.tgtType} ${JSON.stringify(target.tgt)?.slice(0, 40)}`;
      const me = { id: 'web1', grains: HOSTILE, pillar: HOSTILE, nodegroups: GROUPS };
      return [
        [`a master: ${name}`, () => checkMinions(target, view(HOSTILE))] as const,
        [`a minion: ${name}`, () => matchMinion(target, me)] as const,
        [`what it needs: ${name}`, () => dataNeeded(target, GROUPS)] as const,
        [`its pillar terms: ${name}`, () => pillarTerms(target, GROUPS)] as const,
      ];
    }),
    ['groups that double', () => expandNodegroup('g0', GROUPS)],
    ['groups of nothing that double', () => expandNodegroup('e0', GROUPS)],
    ['a target of groups that double', () => withoutNodegroups(Array(1_000).fill('N@g0'), GROUPS)],
    ['a path and its data', () => compileSubdict(A_PATH, 'glob')(HOSTILE)],
  ],
};

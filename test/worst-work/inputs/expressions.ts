import {
  aclValue,
  grantedEntries,
  grantedTo,
  isBlacklisted,
  mayCall,
  mayPublish,
  mayRead,
  partJudge,
  publisherAcl,
  readAcl,
  readsAll,
  runJudge,
} from '@brine/acl';
import {
  compileGlob,
  compilePcre,
  compilePcreWhole,
  matchGlob,
  matchPcre,
  matchPcreWhole,
} from '@brine/target';
import { many, type WorstWork } from '../worst.ts';

const A = 'a'.repeat(30);

/** Expressions that keep a backtracking engine busy, and a text for each. */
const REGEXES: readonly (readonly [pattern: string, text: string])[] = [
  ['(a|a)*b', A],
  ['(a|ab)*c', 'ab'.repeat(200)],
  ['(?:a?){30}a{30}', A],
  ['(?:a?){500}a{500}$', 'a'.repeat(499)],
  ['(?=a)(a|aa)*$', `${'a'.repeat(500)}b`],
  ['(?!b)(?:a{1,16}){1,16}(?:a{1,16}){1,16}c', 'a'.repeat(512)],
  ['(?<!b)(?:(?:a|a){1,9}){1,9}c', 'a'.repeat(512)],
  ['(a*)*\\1b', 'a'.repeat(200)],
  ['(a|a)*\\1b', 'a'.repeat(64)],
  ['(\\w+)\\s\\1(\\w+)*x', `${'ab '.repeat(100)}`],
  ['(?i)(ſ|s|S)*k', 'sS'.repeat(500)],
  ['(x+x+)+y', 'x'.repeat(100_000)],
  ['(a|b)*a(a|b){200}$', many(10_000, (at) => 'ab'[(at * at + (at >> 3)) % 2] ?? 'a')],
  ['(?:(?:(?:(?:a{30}){30}){30}){30})', 'a'.repeat(10_000)],
  ['(?:){4294967290}', ''],
  [`${'('.repeat(90)}a${')*'.repeat(90)}b`, 'a'.repeat(10_000)],
  ['[a-z]*'.repeat(2_500) + '1', 'a'.repeat(256)],
  ['.*'.repeat(8_000) + '1', 'a'.repeat(256)],
  ['[\\w\\W]'.repeat(2_300), 'ü'.repeat(3_000)],
  ['\\w'.repeat(8_000), 'ü'.repeat(8_000)],
  ['x|'.repeat(8_000), 'y'],
  [many(1_600, (at) => `web${at}`, '|'), 'web1599x'],
  [many(170, (at) => 'a'.repeat(at), '|'), 'a'.repeat(1_000)],
  ['(?='.repeat(99) + 'a' + ')'.repeat(99), 'a'],
  ['(?=.*a)'.repeat(1_000) + 'b', 'a'.repeat(1_000)],
  ['(?:(?=.*b)a)*c', 'a'.repeat(5_000)],
  ['(?<=a{1000})'.repeat(1_000), 'a'.repeat(2_000)],
  ['('.repeat(16_384), 'a'],
  ['['.repeat(16_384), 'a'],
  ['(?i)'.repeat(4_000), 'a'],
  ['(?P<n>a)'.repeat(2_000), 'a'.repeat(2_000)],
  ['a'.repeat(16_777_216), 'a'],
];

const GLOBS: readonly (readonly [pattern: string, text: string])[] = [
  ['*a'.repeat(200), 'a'.repeat(199)],
  ['*?'.repeat(5_000), 'a'.repeat(4_999)],
  ['*[ab]'.repeat(2_000) + 'c', 'a'.repeat(8_000)],
  ['*' + 'a'.repeat(20_000) + 'b*', 'a'.repeat(100_000)],
  ['*a'.repeat(100_000), 'a'.repeat(100_000)],
  [`*[${many(5_000, (at) => String.fromCodePoint(0x4e00 + at))}]x`, 'a'.repeat(5_000)],
  ['['.repeat(20_000), '['.repeat(20_000)],
  ['*[!'.repeat(10_000), 'a'],
];

const inputs: WorstWork['inputs'] = () => [
  ...REGEXES.flatMap(([pattern, text]) => [
    [`${shown(pattern)} on ${text.length} characters`, () => matchPcre(pattern, text)] as const,
    [`${shown(pattern)} on the whole`, () => matchPcreWhole(pattern, text)] as const,
  ]),
  ...GLOBS.map(
    ([pattern, text]) =>
      [
        `glob ${shown(pattern)} on ${text.length} characters`,
        () => matchGlob(pattern, text),
      ] as const,
  ),
];

export const expressions: WorstWork = {
  of: [
    ...[
      'compilePcre',
      'compilePcreWhole',
      'matchPcre',
      'matchPcreWhole',
      'compileGlob',
      'matchGlob',
    ].map((name) => `target.${name}`),
  ],
  inputs,
};

/** The rights are the operator's; the function name comes from the caller. */
export const rights: WorstWork = {
  of: [
    ...[
      'mayCall',
      'mayPublish',
      'mayRead',
      'partJudge',
      'runJudge',
      'readsAll',
      'aclValue',
      'isBlacklisted',
      'publisherAcl',
      'readAcl',
      'grantedTo',
      'grantedEntries',
    ].map((name) => `acl.${name}`),
  ],
  inputs: () => {
    const bad = REGEXES.slice(0, 12);
    const reach = { minions: [A], beyond: false, matching: () => new Set([A]) };
    const long = 'a'.repeat(1_000_000);
    const acl = readAcl([
      { '*': [{ 'test.ping': [{ args: ['(a|a)*b', '.*'], kwargs: { k: '(a+)+$' } }] }] },
    ]);
    const kwargs = new Map<string, boolean | string>([
      ['__kwarg__', true],
      ['k', `${long}b`],
    ]);
    return [
      ...bad.map(
        ([pattern, text]) =>
          [
            `a right ${pattern}`,
            () => mayPublish(readAcl([pattern]), { fun: text, arg: [] }, reach),
          ] as const,
      ),
      [
        'long arguments',
        () => mayPublish(acl, { fun: 'test.ping', arg: [long, long, kwargs] }, reach),
      ],
      [
        '1,000 functions',
        () =>
          mayPublish(
            acl,
            {
              fun: Array.from({ length: 1_000 }, () => A),
              arg: Array.from({ length: 1_000 }, () => []),
            },
            reach,
          ),
      ],
      [
        'a long runner',
        () => mayCall(acl, { kind: 'runner', fun: `${long}.${long}`, args: [long], kwargs }),
      ],
      [
        'a name for the lists',
        () => isBlacklisted({ users: ['(a|a)*b'], modules: ['(a*)*b'] }, [A, long], [A]),
      ],
      [
        'a return with long arguments',
        () => {
          const reader = { principal: A, acl, matching: () => new Set([A]) };
          const args = [long, long, kwargs];
          const made = { kind: 'return', principal: undefined, fun: 'test.ping' } as const;
          return [
            mayRead(reader, { ...made, minion: long, args }),
            partJudge(reader, 'grains')(long),
            runJudge(reader, long)(long),
            readsAll(acl),
            readAcl(aclValue(acl)),
          ];
        },
      ],
      ['a user', () => publisherAcl({ '(a|a)*b': ['.*'], '*a*a*a*a*b': ['.*'] }, long)],
      [
        'a login',
        () => [grantedTo({ [A]: ['.*'] }, long, [long], false), grantedEntries({}, long, [], true)],
      ],
      [
        'compiled once',
        () => [
          compilePcre('(a|a)*b')(A),
          compilePcreWhole('(a|a)*b')(A),
          compileGlob('*a*b')(long),
        ],
      ],
    ];
  },
};

function shown(pattern: string): string {
  return pattern.length > 40 ? `${pattern.slice(0, 40)}… (${pattern.length})` : pattern;
}

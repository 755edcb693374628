import { parseArguments } from '@brine/client';
import { loadSls, loadYaml, plainValue, resolvePlain, YamlWork } from '@brine/yaml';
import { many, type WorstWork } from '../worst.ts';

const LAUGHS = ['a: &a [x,x,x,x,x,x,x,x,x]']
  .concat(
    Array.from(
      'bcdefghi',
      (name, at) => `${name}: &${name} [${many(9, () => `*${'abcdefgh'[at]}`, ',')}]`,
    ),
  )
  .join('\n');
/** One longer than a peer may send, and one that just fits. */
const SIZES = [400_000, 8_000] as const;
const REPEATED: readonly string[] = [
  '[',
  '{a: ',
  '- ',
  '? ',
  '!a ',
  '&a ',
  '*a ',
  '# a\n',
  '\n',
  '---\n',
  "'",
  '"',
  '\\',
  ':',
  ': ',
  'a: ',
  ' a:\n',
  '|\n',
  '%a b\n',
  '<<: ',
];

const TEXTS: readonly (readonly [string, (size: number) => string])[] = [
  ['plain keys', (size) => many(size / 10, (at) => `k${at}: 1`, '\n')],
  ['keys in braces', (size) => `{${many(size / 10, (at) => `k${at}: 1`, ', ')}}`],
  ['doubled keys', (size) => `{${many(size / 5, () => 'k: 1', ', ')}}`],
  ['items', (size) => `[${'1,'.repeat(size / 2)}]`],
  ['aliases', (size) => `[&a [1], ${'*a,'.repeat(size / 3)}]`],
  ['anchors', (size) => `[${many(size / 8, (at) => `&a${at} 1`, ',')}]`],
  [
    'merges',
    (size) => {
      const merged = many(50, (at) => `b${at}: 1`, ',');
      return `a: &a {${merged}}\n${many(size / 14, (at) => `k${at}: {<<: *a}`, '\n')}`;
    },
  ],
  ['a key of aliases', (size) => `? [&a ${'x'.repeat(size / 2)}, ${'*a,'.repeat(size / 6)}]`],
  ['a tagged number by sixties', (size) => `!!int 1${':1'.repeat(size / 2)}`],
  ['a tagged number', (size) => `!!int ${'9'.repeat(size)}`],
  ['bytes', (size) => `!!binary ${'A='.repeat(size / 2)}`],
  ['lists in themselves', (size) => `&a [${'*a,'.repeat(size / 3)}]`],
  ['tags', (size) => `[${'!a b,'.repeat(size / 5)}]`],
  ['tags of a million', () => `!!binary ${'A'.repeat(1_000_000)}`],
  ['brackets', (size) => '['.repeat(size / 2) + ']'.repeat(size / 2)],
  ['a number', (size) => '9'.repeat(size)],
  ['a number by sixties', (size) => `1${':1'.repeat(size / 2)}`],
  ['bits', (size) => `0b${'1'.repeat(size)}`],
  ['nearly a number', (size) => `1${'_'.repeat(size)}x`],
  ['nearly a date', (size) => `2001-01-01 ${' '.repeat(size)}x`],
  ...REPEATED.map(
    (one) => [JSON.stringify(one), (size: number) => one.repeat(size / one.length)] as const,
  ),
];

export const yaml: WorstWork = {
  of: [
    ...['yaml.loadYaml', 'yaml.loadSls', 'yaml.resolvePlain', 'yaml.plainValue'],
    'client.parseArguments',
  ],
  inputs: () => [
    ['a billion laughs', () => loadYaml(LAUGHS)],
    ['an alias of itself', () => loadYaml('&a [*a, *a, *a]')],
    ...SIZES.flatMap((size) =>
      TEXTS.flatMap(([name, make]) => {
        const text = make(size);
        return [
          [`${name}, ${size}`, () => loadYaml(text)] as const,
          [`${name} of a file, ${size}`, () => loadSls(text, YamlWork.ofPeer())] as const,
          [
            `${name} as arguments, ${size}`,
            () => parseArguments([text], [], YamlWork.ofPeer()),
          ] as const,
          [`${name} as a scalar, ${size}`, () => [resolvePlain(text), plainValue(text)]] as const,
        ];
      }),
    ),
    [
      '100,000 arguments',
      () =>
        parseArguments(
          Array.from({ length: 100_000 }, () => '1'),
          [],
          YamlWork.ofPeer(),
        ),
    ],
    [
      '10,000 keywords that stay text',
      () => {
        const names = Array.from({ length: 10_000 }, (_, at) => `k${at}`);
        return parseArguments(
          names.map((name) => `${name}=[`),
          names,
          YamlWork.ofPeer(),
        );
      },
    ],
  ],
};

import { readFileSync } from 'node:fs';
import { JinjaError, str } from '@brine/jinja';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { comparable } from '../test/trees.ts';
import { SaltclassError } from './class-values.ts';
import { type ClassPorts, saltclassPillar, saltclassTops } from './saltclass.ts';

// Recorded from Salt by test/fixtures/saltclass/record.py.
const FIXTURES = new URL('../../../test/fixtures/saltclass/', import.meta.url);
const fixture = (name: string): SaltMap =>
  readJson(readFileSync(new URL(name, FIXTURES), 'utf8')) as SaltMap;
const GIVEN = fixture('trees.json');
const TREES = mapIn(GIVEN, 'trees') as SaltMap;
const GRAINS = mapIn(GIVEN, 'grains') as SaltMap;
const RESULTS = fixture('results.json');
const MINION = {
  id: 'web1',
  grains: GRAINS,
  saltenv: null,
  pillarenv: null,
  override: new Map<SaltValue, SaltValue>(),
  ext: null,
};

function portsOf(files: SaltMap): ClassPorts {
  const below = (dir: string): string[] => {
    const paths = [...files.keys()].map(str).filter((path) => path.startsWith(`${dir}/`));
    return paths.map((path) => path.slice(dir.length + 1)).sort();
  };
  const read = (path: string): string | undefined => files.get(path) as string | undefined;
  return {
    files: { classes: below('classes'), nodes: below('nodes'), read },
    outside: { now: () => 0, random: () => 0 },
    functions: new Map(),
    log: () => undefined,
  };
}

function outcome(ask: () => SaltMap): unknown {
  try {
    return comparable(ask());
  } catch (error) {
    const own = error instanceof SaltclassError || error instanceof JinjaError;
    const isKnown = own && !/syntax|Expected/i.test(error.message);
    return { __raises__: isKnown ? error.message : 'rendering' };
  }
}

test.each([...TREES.keys()].map(String))('%s is what Salt makes of it', (name) => {
  const tree = TREES.get(name) as SaltMap;
  const ports = portsOf(mapIn(tree, 'files') as SaltMap);
  const options = { opts: mapOf({}) };
  const pillar = new Map(mapIn(tree, 'pillar') ?? []);
  const made = {
    pillar: outcome(() => saltclassPillar(ports, options, MINION, pillar)),
    tops: outcome(() => saltclassTops(ports, MINION)),
  };
  expect(made).toEqual(comparable(RESULTS.get(name) as SaltMap));
});

test('all trees were recorded', () => {
  expect([...RESULTS.keys()]).toEqual([...TREES.keys()]);
  expect([...RESULTS.values()].every(isMap)).toBe(true);
});

test('a text that grows without end is given up', () => {
  const grown = Array.from({ length: 30 }, (_, at) => `  a${at}: x\${a${at + 1}}x\${a${at + 1}}`);
  const node = `pillars:\n  a30: xx\n${grown.reverse().join('\n')}\n`;
  const ports = portsOf(mapOf({ 'nodes/web1.yml': node }));
  expect(() => saltclassPillar(ports, { opts: mapOf({}) }, MINION, new Map())).toThrow('1 MiB');
});

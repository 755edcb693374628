import * as acl from '@brine/acl';
import * as target from '@brine/target';
import * as yaml from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { expressions, rights } from './inputs/expressions.ts';
import { targets } from './inputs/targets.ts';
import { yaml as yamlTexts } from './inputs/yaml.ts';
import { NOT_FOR_STRANGERS } from './not-for-strangers.ts';
import { CPU_MAX_MS, cpuMsOf, type WorstWork } from './worst.ts';

const ALL: Readonly<Record<string, WorstWork>> = {
  ...{ expressions, rights, targets },
  yaml: yamlTexts,
};
const GROUND: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...{ acl, target, yaml },
};

describe.each(Object.entries(ALL))('%s', (_name, { inputs }) => {
  test(`each input takes ${CPU_MAX_MS} ms of CPU at most`, { timeout: 600_000 }, async () => {
    const slow: string[] = [];
    for (const [name, run] of inputs()) {
      const ms = await cpuMsOf(run);
      if (ms > CPU_MAX_MS) slow.push(`${name}: ${ms.toFixed(0)} ms`);
    }
    expect(slow).toEqual([]);
  });
});

test('each function of what matches and of YAML has bad inputs, or is not for strangers', () => {
  const exported = Object.entries(GROUND).flatMap(([lib, module]) =>
    Object.keys(module)
      .filter((name) => typeof module[name] === 'function')
      .map((name) => `${lib}.${name}`),
  );
  const covered = new Set(Object.values(ALL).flatMap(({ of }) => of));
  const exempt = new Set(Object.values(NOT_FOR_STRANGERS).flatMap((listed) => listed));
  expect(exported.filter((name) => !covered.has(name) && !exempt.has(name))).toEqual([]);
  expect([...exempt].filter((name) => covered.has(name) || !exported.includes(name))).toEqual([]);
});

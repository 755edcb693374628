import * as acl from '@brine/acl';
import * as crypt from '@brine/crypt';
import * as job from '@brine/job';
import * as target from '@brine/target';
import * as wire from '@brine/wire';
import * as yaml from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { bytes } from './inputs/bytes.ts';
import { expressions, rights } from './inputs/expressions.ts';
import { logins } from './inputs/logins.ts';
import { keys, names } from './inputs/names.ts';
import { targets } from './inputs/targets.ts';
import { yaml as yamlTexts } from './inputs/yaml.ts';
import { NOT_FOR_STRANGERS } from './not-for-strangers.ts';
import { CPU_MAX_MS, cpuMsOf, type WorstWork } from './worst.ts';

const ALL: Readonly<Record<string, WorstWork>> = {
  ...{ bytes, expressions, keys, logins, names, rights, targets },
  yaml: yamlTexts,
};
const GROUND: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ...{ acl, crypt, job, target, wire, yaml },
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

test('each function that reads, matches or opens has bad inputs, or is not for strangers', () => {
  const exported = Object.entries(GROUND).flatMap(([lib, module]) =>
    Object.keys(module)
      .filter((name) => typeof module[name] === 'function')
      .map((name) => `${lib}.${name}`),
  );
  const covered = new Set(Object.values(ALL).flatMap(({ of }) => of));
  const exempt = new Set(Object.values(NOT_FOR_STRANGERS).flatMap((listed) => listed));
  expect(exported.filter((name) => !covered.has(name) && !exempt.has(name))).toEqual([]);
  const unknown = [...covered].filter((name) => {
    const [lib = ''] = name.split('.');
    return Object.hasOwn(GROUND, lib) && !exported.includes(name);
  });
  expect(unknown).toEqual([]);
  expect([...exempt].filter((name) => covered.has(name) || !exported.includes(name))).toEqual([]);
});

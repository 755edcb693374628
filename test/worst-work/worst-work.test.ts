import * as acl from '@brine/acl';
import * as crypt from '@brine/crypt';
import * as eauth from '@brine/eauth';
import * as jinja from '@brine/jinja';
import * as job from '@brine/job';
import * as durable from '@brine/job/durable';
import * as target from '@brine/target';
import * as yaml from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { bytes, wire } from './inputs/bytes.ts';
import { directories } from './inputs/directories.ts';
import { expressions, rights } from './inputs/expressions.ts';
import { logins } from './inputs/logins.ts';
import { keys, names } from './inputs/names.ts';
import { targets } from './inputs/targets.ts';
import { templates } from './inputs/templates.ts';
import { yaml as yamlTexts } from './inputs/yaml.ts';
import { NOT_FOR_STRANGERS } from './not-for-strangers.ts';
import { CPU_MAX_MS, CPU_USUAL_MS, cpuMsOf, type WorstWork } from './worst.ts';

const ALL: Readonly<Record<string, WorstWork>> = {
  bytes,
  directories,
  expressions,
  keys,
  logins,
  names,
  rights,
  targets,
  templates,
  yaml: yamlTexts,
};
const GROUND: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  acl,
  crypt,
  eauth,
  jinja,
  target,
  wire,
  yaml,
  job: { ...job, ...durable },
};

describe.each(Object.entries(ALL))('%s', (group, { inputs }) => {
  test(`each input takes ${CPU_MAX_MS} ms of CPU at most`, { timeout: 600_000 }, async () => {
    const took: { readonly name: string; readonly ms: number }[] = [];
    for (const [name, run] of inputs()) took.push({ name, ms: await cpuMsOf(run) });
    took.sort((one, other) => other.ms - one.ms);
    const shown = took.map(({ name, ms }) => `${name}: ${ms.toFixed(1)} ms`);
    const near = took.filter(({ ms }) => ms > CPU_USUAL_MS).length;
    process.stdout.write(`${group}: ${shown.slice(0, Math.max(1, near)).join('\n  ')}\n`);
    const slow = shown.slice(0, took.filter(({ ms }) => ms > CPU_MAX_MS).length);
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

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { standingOf } from '@brine/config/reference';
import { logOptions } from '@brine/service';
import { createLog } from '@brine/telemetry';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkForce } from './check-force.ts';

// Recorded from installed Salts by test/fixtures/master-options/record.py.
const FIXTURE = new URL('../../../../test/fixtures/master-options/options.json', import.meta.url);
const RECORDED = JSON.parse(readFileSync(FIXTURE, 'utf8')) as Record<
  string,
  Record<string, { readonly default?: unknown }>
>;

const UNKNOWN = ['fileserver_bakend', 'option_of_ours'];

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-force-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** As many of them, from the first to the last. */
function spread(names: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, at) => names[Math.floor((at * names.length) / count)]!);
}

/** A value of the same kind, as a file has it. */
function otherThan(value: unknown): string {
  if (typeof value === 'boolean') return String(!value);
  if (typeof value === 'number') return String(value + 1);
  if (typeof value !== 'object' || value === null) return 'other';
  return Array.isArray(value) ? '[other]' : '{other: thing}';
}

/** A file with 60 options: 18 that are honoured, 40 that are not, two that Salt does not know. */
function writeSixty(): readonly string[] {
  const all = RECORDED['3008.5'] ?? {};
  const names = Object.keys(all).filter((name) => !['metrics', 'tracing'].includes(name));
  const isPlain = (name: string): boolean =>
    ['boolean', 'number'].includes(typeof all[name]?.default);
  const inState = (wanted: RegExp): string[] =>
    names.filter((n) => wanted.test(standingOf(n).state));
  const honoured = spread(inState(/^honoured$/).filter(isPlain), 18);
  const ignored = spread(inState(/^not/), 40);
  const stopping = ignored.filter((name) => standingOf(name).stops);
  const lines = [
    ...honoured.map((name) => `${name}: ${JSON.stringify(all[name]?.default)}`),
    ...[...ignored, ...UNKNOWN].map((name) => `${name}: ${otherThan(all[name]?.default)}`),
    `brine: {accept_ignored: ${JSON.stringify(stopping)}}`,
  ];
  expect(lines).toHaveLength(61);
  writeFileSync(join(dir, 'master'), `${lines.join('\n')}\n`);
  return [...ignored, ...UNKNOWN];
}

test('of 60 options each that is ignored is named once, at a start and by the doctor', () => {
  const ignored = writeSixty();
  const { warnings } = loadMasterConfig({ configDir: dir, env: {} });
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  logOptions(createLog({ service: 'master', level: 'warning', destination }), warnings);
  const found = checkForce(warnings);
  const named = (texts: readonly string[]): string[] =>
    texts.map((text) => /[Oo]ption '(\S+)'/.exec(text)?.[1] ?? text).sort();
  expect(named(lines)).toEqual([...ignored].sort());
  expect(named(found.map(({ text }) => text))).toEqual([...ignored].sort());
  expect(found.map(({ check }) => check).sort()).toEqual([...ignored].sort());
});

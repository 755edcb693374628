// `brine doctor --security` at a running master: what it sees, and that it names what was opened.
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { readState } from '@brine/service/processes';
import { BrineMaster } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  masterProcesses,
  type ProcessSeen,
} from '../../../libs/operations/src/doctor/security/processes.ts';

interface Finding {
  readonly level: string;
  readonly check: string;
  readonly text: string;
}

let master: BrineMaster;

beforeAll(async () => {
  master = await BrineMaster.start({ brine: { workers: 2 } });
}, 240_000);
afterAll(() => master?.close());

async function doctor(): Promise<{ readonly code: number; readonly findings: Finding[] }> {
  const { code, stdout } = await master.brine('doctor', ['--security', '--out', 'json']);
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

async function processes(): Promise<Map<string, ProcessSeen>> {
  const state = readState(join(master.home.cacheDir, 'brine'));
  if (state === undefined) throw new Error('no state');
  return new Map((await masterProcesses(state)).map((one) => [one.name, one]));
}

test('nothing is bad about a master as it starts', async () => {
  const { code, findings } = await doctor();
  expect(findings.filter(({ level }) => level === 'bad')).toEqual([]);
  expect(code).toBe(0);
  const passed = findings.flatMap(({ level, check }) => (level === 'ok' ? [check] : []));
  expect(passed).toEqual(
    expect.arrayContaining([
      ...['environments', 'command-lines', 'listens', 'process-users', 'nats-users'],
      ...['configuration-files', 'private-files', 'open_mode'],
    ]),
  );
});

test('all processes of the master are looked at', async () => {
  const seen = await processes();
  const services = await master.services();
  const names = ['supervisor', 'nats-server', 'postgres', ...services.map(({ name }) => name)];
  expect([...seen.keys()]).toEqual(expect.arrayContaining(names));
  const variables = (name: string): string[] => [...(seen.get(name)?.environment?.keys() ?? [])];
  expect(variables('job-cache-returner')).toContain('DATABASE_URL');
  expect(variables('worker-pool-1')).toContain('NATS_URL');
  const { publishPort, retPort } = master.home;
  const ports = (name: string): number[] => (seen.get(name)?.listens ?? []).map(({ port }) => port);
  expect(ports('publisher')).toContain(publishPort);
  expect(ports('req-gateway')).toContain(retPort);
  expect(ports('nats-server')).toHaveLength(1);
  expect(ports('postgres')).toHaveLength(1);
});

test.each([
  ['.root_key', ['cache', '.root_key'], 0o640],
  ['the users of NATS', ['cache', 'brine', 'nats', 'credentials.json'], 0o604],
  ['the socket that takes events', ['sock', 'master_event_pull.ipc'], 0o622],
])('%s is named when others may use it', async (_what, path, mode) => {
  const file = join(master.home.configDir, ...path);
  await chmod(file, mode);
  const { code, findings } = await doctor();
  await chmod(file, 0o600);
  expect(code).toBe(1);
  const bad = findings.filter(({ level }) => level === 'bad');
  expect(bad.map(({ text }) => text).join('\n')).toContain(file);
});

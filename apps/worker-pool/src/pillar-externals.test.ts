import type { PillarMinion, PillarOptions, PillarPorts } from '@brine/pillar';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Externals, type ExternalsData } from './pillar-externals.ts';

let server: Server;
let url = '';
let asked = 0;

beforeAll(async () => {
  server = createServer((_request, answer) => {
    asked += 1;
    answer.end('{"a": 1}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => server.close());
beforeEach(() => void (asked = 0));

async function askFor(ext: PillarMinion['ext'], options: Partial<PillarOptions>) {
  const settings = { pillarRoots: {}, nodegroups: {}, log: () => undefined };
  const given = { extPillar: [], excludeExtPillar: [], onDemandExtPillar: [], ...options };
  // What git and PostgreSQL need is not reached.
  const externals = new Externals({} as ExternalsData, settings, given as unknown as PillarOptions);
  const minion = { id: 'a', grains: mapOf({}), saltenv: null, pillarenv: null, ext };
  await externals.askEarly({ ...minion, override: mapOf({}) });
}

test('CVE-2025-22237, CVE-2025-22241: no service is asked because a minion names it', async () => {
  await askFor(mapOf({ http_json: url }), { onDemandExtPillar: ['libvirt', 'virtkey'] });
  // One name that is not allowed refuses all of them.
  await askFor(mapOf({ http_json: url, http_yaml: url }), { onDemandExtPillar: ['http_json'] });
  expect(asked).toBe(0);
});

test('what the configuration names is asked, and of a minion what it may', async () => {
  await askFor(null, { extPillar: [mapOf({ http_json: url })] });
  await askFor(mapOf({ http_json: url }), { onDemandExtPillar: ['http_json'] });
  expect(asked).toBe(2);
});

test('nothing is decrypted of a repository that a minion chose, only of one of the master', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-chosen-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'top.sls'), "base: {'*': [a]}\n");
  writeFileSync(join(dir, 'a.sls'), '#!yaml|gpg\nsecret: sealed\n');
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '-m', 'a'],
  ]) {
    execFileSync('git', [...who, ...args], { cwd: dir, stdio: 'ignore' });
  }
  const git = {
    ...{ cacheDir: join(dir, 'cache'), updateIntervalMs: 0, sslVerify: true },
    ...{ user: '', password: '', privkey: '' },
  };
  const gitDefaults = { base: 'main', branch: 'main', env: '', fallback: '', root: '' };
  const settings = { pillarRoots: {}, nodegroups: {}, log: () => undefined };
  const options = {
    ...{ renderer: 'jinja|yaml', stateTop: 'top.sls', mergingStrategy: 'smart', envOrder: [] },
    ...{ nodegroups: {}, extPillar: [], decrypt: { keys: [], delimiter: ':', renderers: ['gpg'] } },
    ...{ opts: mapOf({}), pillarenv: null, onDemandExtPillar: ['git'] },
  } as unknown as PillarOptions;
  const data = { git, gitDefaults, gitIncludes: false } as unknown as ExternalsData;
  const ports = {
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    decrypt: () => mapOf({ secret: 'open' }),
    log: () => undefined,
  } as unknown as PillarPorts;
  const asking = (args: SaltValue, ext: SaltMap | null): SaltValue | undefined => {
    const minion = { id: 'a', grains: mapOf({}), saltenv: null, pillarenv: null, ext };
    const externals = new Externals(data, settings, options);
    return externals.ask('git', { ...minion, override: mapOf({}) }, args, {
      ports,
      pillar: mapOf({}),
    });
  };
  const args = [`main ${dir}`];
  expect(asking(args, null)).toEqual(mapOf({ secret: 'open' }));
  expect(asking(args, mapOf({ git: args }))).toEqual(mapOf({ secret: 'sealed' }));
});

// No program inherits what a service holds: each place that starts one takes its environment from
// the door.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startsIn } from './child-environments.ts';

const ROOT = new URL('..', import.meta.url).pathname;

/** Places that hand on the whole environment, by file, with how many there are and why. */
const BRINES_OWN: Readonly<Record<string, readonly [number, string]>> = {
  // The next process reads the same configuration, and forgets what is Brine's own by itself.
  'apps/cli/src/commands/minion.ts': [1, 'the minion'],
  'apps/cli/src/demo/demo-process.ts': [2, 'a master and minions of the demonstration'],
  'apps/cli/src/master/run-master.ts': [1, 'the master in the background'],
  'apps/cli/src/commands/operations/migrate.ts': [1, 'the master that takes over'],
  'libs/service/src/processes/service-process.ts': [2, 'a service'],
  'libs/service/src/run-service.ts': [1, 'the copy that a service keeps for its own parts'],
  // No program is started there.
  'apps/cli/src/master/account.ts': [2, 'names of the account, from a list'],
  'libs/crypt/native/build.mjs': [2, 'the compiler, when a developer builds'],
};

const sources = ['apps', 'libs']
  .flatMap((dir) =>
    readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${dir}/${path}`,
    ),
  )
  .filter((path) => /\.(?:ts|mjs|cjs|js)$/.test(path) && !/\.(?:test|fixture|d)\.ts$/.test(path))
  .filter((path) => !/^libs\/testing\/|\/(?:bench|dist|fixtures|node_modules|test)\//.test(path));
const found = sources.map((path) => ({ path, ...startsIn(ROOT, path) }));

describe('each place that starts a program', () => {
  test('takes its environment from the door, or starts a part of Brine', () => {
    const bad = found.filter(({ path }) => !Object.hasOwn(BRINES_OWN, path));
    expect(bad.flatMap((one) => one.bad)).toEqual([]);
    const counts = found.flatMap(({ path, bad: { length } }) =>
      Object.hasOwn(BRINES_OWN, path) ? [[path, length]] : [],
    );
    const wanted = Object.entries(BRINES_OWN).map(([path, [count]]) => [path, count]);
    expect(Object.fromEntries(counts)).toEqual(Object.fromEntries(wanted));
  });

  test('is found: pillars, classifiers, gpg, git, engines, Python, PAM, syslog, servers', () => {
    const files = new Set(found.filter(({ good }) => good.length > 0).map(({ path }) => path));
    expect([...files]).toEqual(
      expect.arrayContaining([
        'apps/cli/src/call/stock-call.ts',
        'apps/cli/src/master/service-manager.ts',
        'apps/job-cache-returner/src/adapters/event-return/syslog-returner.ts',
        'libs/cachedir/src/user-keys.ts',
        'libs/config/src/sdb.ts',
        'libs/eauth/src/pam.ts',
        'libs/engines/src/builtin/script.ts',
        'libs/engines/src/supervise/node-engine.ts',
        'libs/git/src/run-git.ts',
        'libs/minion/src/modules/run-command.ts',
        'libs/minion/src/runner/pool.ts',
        'libs/nats-server/src/commands.ts',
        'libs/nats-server/src/start.ts',
        'libs/rendering/src/external-tops.ts',
        'libs/rendering/src/threads/host-functions.ts',
        'libs/rendering/src/sources/command.ts',
        'libs/rendering/src/sources/gpg.ts',
        'libs/postgres-server/src/binaries.ts',
        'libs/postgres-server/src/server.ts',
        'libs/python-host/src/python-engine.ts',
        'libs/python-host/src/python-process.ts',
        'libs/service/src/logs/syslog.ts',
      ]),
    );
  });
});

describe('the finder', () => {
  const HEAD = [
    "import { execFile, fork as start, spawn } from 'node:child_process';",
    "import { promisify } from 'node:util';",
    "import { childEnvironment } from '@brine/environment';",
    '',
  ].join('\n');
  const bad = (body: string): readonly string[] =>
    startsIn(ROOT, 'libs/x/src/x.ts', HEAD + body).bad.map(({ what }) => what);

  test.each([
    ["spawn('x', []);", 'spawn'],
    ["spawn('x', [], { env: process.env });", 'spawn'],
    ["spawn('x', [], { env: { ...childEnvironment(process.env), A: '1' } });", 'spawn'],
    ["start('x', [], { env: childEnvironments(process.env) });", 'fork'],
    ["promisify(execFile)('x', []);", 'execFile'],
    ["const run = promisify(execFile); run('x', []);", 'execFile'],
    ["const begin = spawn; begin('x');", 'spawn'],
    ["const options = { env: process.env }; execFile('x', [], options);", 'execFile'],
    ['function own() { return process.env; } spawn("x", { env: own() });', 'spawn'],
    ["new Worker('x', { env: SHARE_ENV });", 'Worker'],
    ['const get = (name) => process.env[name];', 'a variable by a name from elsewhere'],
    ['const env = { ...process.env };', 'the whole environment'],
    ["import * as programs from 'node:child_process';", 'node:child_process without names'],
    ["await import('node:child_process');", 'node:child_process without names'],
  ])('sees %s', (body, what) => {
    expect(bad(body)).toEqual([what]);
  });

  test.each([
    ["spawn('x', [], { env: childEnvironment(process.env) });"],
    ["const env = childEnvironment({}); execFile('x', [], { env });"],
    ['function own() { return childEnvironment({}); } spawn("x", { env: own() });'],
    ["new Worker('x', { workerData: 1 });"],
    ["const NAME = 'PATH'; const path = process.env[NAME] ?? process.env['HOME'];"],
    ["spawned('x');"],
  ])('passes %s', (body) => {
    expect(bad(body)).toEqual([]);
  });
});

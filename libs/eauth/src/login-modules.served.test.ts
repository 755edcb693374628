import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workTakes } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { LoginModule } from './index.ts';
import { everybody, LoginError, LoginModules, Pam, sharedSecret } from './index.ts';

const troubles: string[] = [];
const counts: string[] = [];
const HERE = '192.0.2.1';
function logins(modules: Readonly<Record<string, LoginModule>>): LoginModules {
  troubles.length = 0;
  counts.length = 0;
  return new LoginModules({
    modules,
    refusalMs: 40,
    onTrouble: (text) => troubles.push(text),
    count: (name) => counts.push(name),
  });
}

it('a refusal takes its time, whatever the reason; a success does not', async () => {
  const broken: LoginModule = { check: () => Promise.reject(new LoginError('no such server')) };
  const modules = logins({ sharedsecret: sharedSecret('s'), broken });
  const cases = [
    ['sharedsecret', 'anne', 'x'],
    ['sharedsecret', '', 's'],
    ['broken', 'anne', 's'],
    ['constructor', 'anne', 's'],
    ['sharedsecret', 'a\0b', 's'],
    ['sharedsecret', 'a'.repeat(300), 's'],
  ] as const;
  for (const [module, username, password] of cases) {
    const startMs = performance.now();
    expect(await modules.vouch(module, username, password, HERE)).toBeUndefined();
    expect(performance.now() - startMs).toBeGreaterThan(28);
  }
  expect(troubles).toEqual(['no such server']);
  expect(await modules.vouch('sharedsecret', 'anne', 's', HERE)).toEqual({
    name: 'anne',
    groups: [],
  });
});

/** A module that answers only once it is released. */
function slowModule(answer: (username: string) => boolean = () => true) {
  const asked: string[] = [];
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const module: LoginModule = {
    async check({ username }) {
      asked.push(username);
      await gate;
      return answer(username) ? { name: username, groups: [] } : undefined;
    },
  };
  return { asked, release: () => release(), module };
}

it('logins beyond a number at once are refused', async () => {
  const { asked, release, module } = slowModule();
  const modules = logins({ slow: module });
  const all = Array.from({ length: 300 }, (_none, at) =>
    modules.vouch('slow', `u${at}`, 'p', `192.0.2.${at % 250}`),
  );
  await expect.poll(() => asked.length).toBe(16);
  release();
  expect((await Promise.all(all)).filter((known) => known !== undefined)).toHaveLength(192);
  expect(counts).toEqual(Array(108).fill('login_busy'));
  expect(troubles).toHaveLength(1);
});

it('a storm from one address leaves places for others', async () => {
  const { asked, release, module } = slowModule();
  const modules = logins({ slow: module });
  const storm = Array.from({ length: 300 }, (_none, at) =>
    modules.vouch('slow', `u${at}`, 'p', HERE),
  );
  const anne = modules.vouch('slow', 'anne', 'p', '192.0.2.9');
  await expect.poll(() => asked.length).toBe(9);
  expect(asked).toContain('anne');
  release();
  expect(await anne).toBeDefined();
  // A user who gets in is not punished for the others.
  expect((await Promise.all(storm)).filter((known) => known !== undefined)).toHaveLength(160);
});

it('after some failures the module is not asked about the rest of a storm', async () => {
  const { asked, release, module } = slowModule((username) => username === 'anne');
  const modules = logins({ slow: module });
  release();
  const storm = Array.from({ length: 150 }, () => modules.vouch('slow', 'bob', 'p', HERE));
  expect((await Promise.all(storm)).every((known) => known === undefined)).toBe(true);
  // Those that were being checked when the first failed, and not 150.
  expect(asked.length).toBeLessThan(20);
  expect(counts.filter((name) => name === 'login_limited')).toHaveLength(150 - asked.length);
  expect(await modules.vouch('slow', 'anne', 'p', HERE)).toBeDefined();
});

it('a module that is away counts against no user', async () => {
  let away = true;
  const broken: LoginModule = {
    async check({ username }) {
      if (away) throw new LoginError('no such server');
      return { name: username, groups: [] };
    },
  };
  const modules = logins({ broken });
  for (let n = 0; n < 8; n += 1) await modules.vouch('broken', 'anne', 'p', HERE);
  away = false;
  expect(await modules.vouch('broken', 'anne', 'p', HERE)).toBeDefined();
});

it('one slow refusal does not make all later ones slow', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'Date'] });
  try {
    let slow = true;
    const module: LoginModule = {
      async check() {
        if (slow) await workTakes(9_000);
        return undefined;
      },
    };
    const modules = logins({ module });
    const took = async (username: string): Promise<number> => {
      const startMs = performance.now();
      let endMs = 0;
      const done = modules.vouch('module', username, 'p', HERE).then(() => {
        endMs = performance.now();
      });
      await vi.advanceTimersByTimeAsync(20_000);
      await done;
      return endMs - startMs;
    };
    await took('a');
    slow = false;
    // Five times the usual 40 ms, give or take a quarter.
    expect(await took('b')).toBeLessThan(251);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await took('c')).toBeLessThan(55);
  } finally {
    vi.useRealTimers();
  }
});

it('auto lets every user in only if tests say so, an empty shared secret none', async () => {
  const modules = logins({ on: everybody(true), off: everybody(false), none: sharedSecret('') });
  expect(await modules.vouch('on', 'anne', '', HERE)).toBeDefined();
  expect(await modules.vouch('off', 'anne', '', HERE)).toBeUndefined();
  expect(await modules.vouch('none', 'anne', '', HERE)).toBeUndefined();
  expect(troubles).toEqual([
    'auto is for tests: brine.testing.eauth_auto is off',
    'sharedsecret is not set',
  ]);
});

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pam-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it('CVE-2022-22967: PAM is asked for authentication and account, the password through a pipe', async () => {
  // As pamtester: operations are tried in turn, the password is read from the pipe.
  const program = join(dir, 'pamtester');
  await writeFile(
    program,
    `#!/bin/sh
[ "$1" = salt ] && [ "$3" = authenticate ] && [ "$4" = acct_mgmt ] || exit 2
read -r password
[ "$password" = "pass word" ] || exit 1
[ "$2" != locked ]
`,
  );
  await chmod(program, 0o700);
  const modules = logins({ pam: new Pam({ service: 'salt', program }) });
  expect(await modules.vouch('pam', 'root', 'pass word', HERE)).toMatchObject({
    name: 'root',
    groups: expect.arrayContaining(['root']) as unknown,
  });
  for (const [username, password] of [
    ['root', 'other'],
    ['locked', 'pass word'],
    ['-v', 'pass word'],
    ['root', 'pass word\nx'],
  ] as const) {
    expect(await modules.vouch('pam', username, password, HERE)).toBeUndefined();
  }
  expect(troubles).toEqual([]);
  const missing = logins({ pam: new Pam({ service: 'salt', program: join(dir, 'none') }) });
  expect(await missing.vouch('pam', 'root', 'x', HERE)).toBeUndefined();
  expect(troubles).toEqual([`external_auth:pam: ${join(dir, 'none')} could not be run`]);
});

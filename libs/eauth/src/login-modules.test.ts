import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LoginError, LoginModules, Pam, everybody, sharedSecret } from './index.ts';
import type { LoginModule } from './index.ts';

const troubles: string[] = [];
function logins(modules: Readonly<Record<string, LoginModule>>): LoginModules {
  troubles.length = 0;
  return new LoginModules({ modules, refusalMs: 40, onTrouble: (text) => troubles.push(text) });
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
    expect(await modules.vouch(module, username, password)).toBeUndefined();
    expect(performance.now() - startMs).toBeGreaterThan(28);
  }
  expect(troubles).toEqual(['no such server']);
  expect(await modules.vouch('sharedsecret', 'anne', 's')).toEqual({ name: 'anne', groups: [] });
});

it('so many logins at once that nobody could answer them are refused', async () => {
  let waiting = 0;
  let release: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const slow: LoginModule = {
    async check({ username }) {
      waiting += 1;
      await gate;
      return { name: username, groups: [] };
    },
  };
  const modules = logins({ slow });
  const all = Array.from({ length: 300 }, (_none, at) => modules.vouch('slow', `u${at}`, 'p'));
  await expect.poll(() => waiting).toBe(256);
  release?.();
  expect((await Promise.all(all)).filter((known) => known !== undefined)).toHaveLength(256);
  expect(troubles).toHaveLength(1);
});

it('everybody is let in only where tests say so, nobody by an empty shared secret', async () => {
  const modules = logins({ on: everybody(true), off: everybody(false), none: sharedSecret('') });
  expect(await modules.vouch('on', 'anne', '')).toBeDefined();
  expect(await modules.vouch('off', 'anne', '')).toBeUndefined();
  expect(await modules.vouch('none', 'anne', '')).toBeUndefined();
  expect(troubles).toEqual([
    'auto is for tests: brine.eauth.auto is off',
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
  expect(await modules.vouch('pam', 'root', 'pass word')).toMatchObject({
    name: 'root',
    groups: expect.arrayContaining(['root']) as unknown,
  });
  for (const [username, password] of [
    ['root', 'other'],
    ['locked', 'pass word'],
    ['-v', 'pass word'],
    ['root', 'pass word\nx'],
  ] as const) {
    expect(await modules.vouch('pam', username, password)).toBeUndefined();
  }
  expect(troubles).toEqual([]);
  const missing = logins({ pam: new Pam({ service: 'salt', program: join(dir, 'none') }) });
  expect(await missing.vouch('pam', 'root', 'x')).toBeUndefined();
  expect(troubles).toEqual([`external_auth:pam: ${join(dir, 'none')} could not be run`]);
});

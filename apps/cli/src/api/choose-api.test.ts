import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Exit } from '../exit-codes.ts';
import { apiUrl } from './api-url.ts';
import { chooseApi } from './choose-api.ts';
import { pepperFile } from './pepper-settings.ts';
import { changeSessions, readSessions, sessionFile, type StoredSession } from './session-file.ts';

const NOW = Date.UTC(2026, 10, 30);
const SESSION: StoredSession = {
  token: 'abc',
  user: 'alice',
  eauth: 'pam',
  expires: '2026-11-30T12:00:00.000000Z',
};
const LOG_IN = { SALTAPI_USER: 'bob', SALTAPI_PASS: 'secret', SALTAPI_EAUTH: 'ldap' };
const BOB = { username: 'bob', password: 'secret', eauth: 'ldap' };

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'choose-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const store = (...urls: readonly string[]): Promise<void> =>
  changeSessions(sessionFile({}, home), () => ({
    ...(urls[0] === undefined ? {} : { last: urls[0] }),
    sessions: Object.fromEntries(urls.map((url) => [url, SESSION])),
  }));

const choose = (
  given: string | undefined,
  env: Readonly<Record<string, string>> = {},
  nowMs = NOW,
) => chooseApi(given, { env, home, nowMs });

function exitOf(work: () => unknown): Pick<Exit, 'code' | 'text'> | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Exit) return { code: error.code, text: error.text };
    throw error;
  }
  return undefined;
}

describe('an address', () => {
  test.each([
    ['https://salt.example', 'https://salt.example'],
    ['https://salt.example:8000/', 'https://salt.example:8000'],
    ['HTTPS://Salt.Example/api//', 'https://salt.example/api'],
    ['http://127.0.0.1:4507', 'http://127.0.0.1:4507'],
    ['http://127.9.9.9', 'http://127.9.9.9'],
    ['http://localhost:4507/', 'http://localhost:4507'],
    ['http://[::1]:4507', 'http://[::1]:4507'],
  ])('%s is %s', (text, url) => expect(apiUrl(text)).toBe(url));

  test.each([
    ['http://salt.example', 'is not encrypted'],
    ['http://10.0.0.1:8000', 'is not encrypted'],
    ['http://localhost.example', 'is not encrypted'],
    ['http://127.0.0.1.example', 'is not encrypted'],
    ['http://[::2]', 'is not encrypted'],
    ['salt.example', 'is no address'],
    ['ftp://salt.example', 'is no address'],
    ['', 'is no address'],
    ['https://bob:secret@salt.example', 'no name and no password'],
    ['https://salt.example/?token=x', 'ends with its path'],
    ['https://salt.example/#x', 'ends with its path'],
  ])('%s is refused: it %s', (text, why) => {
    const exit = exitOf(() => apiUrl(text));
    expect(exit?.code).toBe(64);
    expect(exit?.text).toContain(why);
    expect(exit?.text).not.toContain('secret');
  });
});

describe('the address of a command', () => {
  const urlsBy = {
    given: 'https://given',
    BRINE_API: 'https://brine',
    SALTAPI_URL: 'https://variable',
    last: 'https://last',
    file: 'https://file',
  };
  test.each(['given', 'BRINE_API', 'SALTAPI_URL', 'last', 'file'] as const)(
    'is %s, where nothing before it is set',
    async (first) => {
      const names = Object.keys(urlsBy) as (keyof typeof urlsBy)[];
      const set = new Set(names.slice(names.indexOf(first)));
      const { given, last, file, ...variables } = urlsBy;
      if (set.has('last')) await store(last, ...Object.values(urlsBy).filter((u) => u !== last));
      writeFileSync(join(home, '.pepperrc'), `[main]\nSALTAPI_URL=${file}\n`);
      const env = Object.fromEntries(
        Object.entries({ ...variables, ...LOG_IN }).filter(
          ([name]) => !(name in urlsBy) || set.has(name as keyof typeof urlsBy),
        ),
      );
      expect(choose(set.has('given') ? given : undefined, env).url).toBe(urlsBy[first]);
    },
  );

  test('is missed with the ways to give it', () => {
    const exit = exitOf(() => choose(undefined));
    expect(exit?.code).toBe(64);
    expect(exit?.text).toContain('brine login URL');
  });
});

describe('the proof of a command', () => {
  const url = 'https://salt';

  test('is the session of that address, before the variables of pepper', async () => {
    await store(url);
    expect(choose(undefined, LOG_IN).proof).toEqual({ token: 'abc' });
    expect(choose('https://other', LOG_IN).proof).toEqual(BOB);
  });

  test('is no session that has ended', async () => {
    await store(url);
    const later = Date.parse(SESSION.expires);
    const exit = exitOf(() => choose(undefined, {}, later));
    const text = `brine: The session at ${url} has ended: log in with \`brine login ${url}\`.\n`;
    expect(exit).toEqual({ code: 2, text });
    expect(choose(undefined, LOG_IN, later).proof).toEqual(BOB);
  });

  test('is missing at an address without a log-in', () => {
    expect(exitOf(() => choose(url))?.code).toBe(2);
    expect(exitOf(() => choose(url, { SALTAPI_USER: 'bob' }))?.text).toContain(
      'There is no session',
    );
  });

  test('of the variables is for their address alone, and of the file for its own', () => {
    const env = { ...LOG_IN, SALTAPI_URL: 'https://salt/' };
    expect(choose(url, env).proof).toEqual(BOB);
    expect(exitOf(() => choose('https://evil', env))?.code).toBe(2);
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    writeFileSync(join(home, '.pepperrc'), `[main]\n${lines.join('\n')}\n`, { mode: 0o600 });
    expect(choose(url)).toMatchObject({ proof: BOB, warning: undefined });
    expect(exitOf(() => choose('https://evil'))?.code).toBe(2);
    expect(choose(url, { SALTAPI_PASS: 'newer' }).proof).toMatchObject({ password: 'newer' });
    chmodSync(join(home, '.pepperrc'), 0o644);
    expect(choose(url).warning).toContain('chmod 600');
  });
});

describe("pepper's file", () => {
  test.each([
    ['[main]\nSALTAPI_URL=https://a\n', {}, { url: 'https://a' }],
    ['[main]\nsaltapi_url : https://a:8000/\r\n', {}, { url: 'https://a:8000/' }],
    ['[main]\nSALTAPI_PASS = a=b;c # d\n', {}, { password: 'a=b;c # d' }],
    ['# x\n; y\n[other]\nSALTAPI_USER=eve\n[main]\nSALTAPI_USER=bob\n', {}, { username: 'bob' }],
    ['[other]\nSALTAPI_USER=eve\n', { PEPPERPROFILE: 'other' }, { username: 'eve' }],
    [
      '[DEFAULT]\nSALTAPI_EAUTH=pam\n[main]\nSALTAPI_USER=bob\n',
      {},
      { eauth: 'pam', username: 'bob' },
    ],
    ['SALTAPI_USER=bob\n', {}, {}],
    ['[main]\nSALTAPI_USER\nSALTAPI_URL=\n', {}, {}],
    ['', {}, {}],
  ])('%j with %j', (text, env, settings) => {
    writeFileSync(join(home, '.pepperrc'), text, { mode: 0o600 });
    expect(pepperFile(env, home)).toEqual(settings);
  });

  test('may be named by PEPPERRC, and be missing', () => {
    expect(pepperFile({}, home)).toEqual({});
    const path = join(home, 'rc');
    writeFileSync(path, '[main]\nSALTAPI_USER=bob\n');
    expect(pepperFile({ PEPPERRC: path }, home)).toEqual({ username: 'bob' });
  });
});

describe('the file of sessions', () => {
  const path = (): string => sessionFile({}, home);

  test('is in XDG_CONFIG_HOME, else in ~/.config', () => {
    expect(sessionFile({ XDG_CONFIG_HOME: '/x' }, home)).toBe('/x/brine/sessions.json');
    expect(path()).toBe(join(home, '.config/brine/sessions.json'));
  });

  test('is made for its user alone, whatever the umask', async () => {
    const before = process.umask(0);
    try {
      await store('https://a');
    } finally {
      process.umask(before);
    }
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, '.config/brine')).mode & 0o777).toBe(0o700);
    expect(readSessions(path())).toEqual({ last: 'https://a', sessions: { 'https://a': SESSION } });
  });

  test.each([0o640, 0o604, 0o660, 0o602])('is refused with mode %o', async (mode) => {
    await store('https://a');
    chmodSync(path(), mode);
    const exit = exitOf(() => choose(undefined));
    expect(exit?.code).toBe(1);
    expect(exit?.text).toContain(`chmod 600 ${path()}`);
  });

  test.each([0o755, 0o710])('is refused in a directory with mode %o', async (mode) => {
    await store('https://a');
    chmodSync(join(home, '.config/brine'), mode);
    expect(exitOf(() => readSessions(path()))?.text).toContain('chmod 700');
    await expect(store('https://b')).rejects.toThrow('exit 1');
  });

  test('that is broken is named', () => {
    mkdirSync(join(home, '.config/brine'), { recursive: true, mode: 0o700 });
    writeFileSync(path(), '{', { mode: 0o600 });
    expect(exitOf(() => readSessions(path()))?.text).toContain('is broken');
    for (const text of ['[]', '3', 'null', '{"sessions": {"https://a": {"token": 3}}}']) {
      writeFileSync(path(), text);
      expect(readSessions(path())).toEqual({ sessions: {} });
    }
  });

  test('keeps the newest hundred', async () => {
    await store(...Array.from({ length: 120 }, (_, at) => `https://a${at}`));
    const { sessions } = readSessions(path());
    expect(Object.keys(sessions)).toHaveLength(100);
    expect(sessions['https://a119']).toEqual(SESSION);
  });
});

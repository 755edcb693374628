import { readdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join, relative } from 'node:path';
import { BrineMaster, type SaltVenv, saltVenv } from '@brine/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { masterConfig, reactorCases, VERSION } from './reactor-cases.ts';

/*
 * The runner `reactor` of a stock Salt on the master's host asks by events, and waits for others.
 */

let master: BrineMaster;
let venv: SaltVenv;

beforeAll(async () => {
  venv = await saltVenv(VERSION);
  master = await BrineMaster.start({ ...masterConfig(), brine: { workers: 2 } });
}, 900_000);
afterAll(() => master?.close());

/** The result of a stock runner, which prints the events that it fires before it. */
async function stock(...args: readonly string[]): Promise<unknown> {
  const given = ['--out', 'json', '-l', 'quiet', ...args];
  const { stdout } = await master.sandbox.run(venv, 'salt-run', master.home, given);
  const texts = stdout.split(/^(?=[[{"tf])/m);
  return JSON.parse(texts.at(-1) ?? '') as unknown;
}

it('lists, adds and deletes entries for the whole cluster', async () => {
  const configured = reactorCases().map(({ glob, reactor }) => ({ [glob]: reactor }));
  expect(await stock('reactor.list')).toEqual(configured);
  const added = { status: true, comment: 'Reactor added.' };
  expect(await stock('reactor.add', 'added/*', 'reactors=/srv/added.sls')).toEqual(added);
  const { stdout } = await master.brine('run', ['reactor.list', '--out', 'json']);
  expect(JSON.parse(stdout)).toEqual([...configured, { 'added/*': ['/srv/added.sls'] }]);
  expect(await stock('reactor.delete', 'added/*')).toEqual({
    status: true,
    comment: 'Reactor deleted.',
  });
  expect(await stock('reactor.delete', 'added/*')).toEqual({
    status: false,
    comment: 'Reactor does not exists.',
  });
});

it('asks for the leader and sets it', async () => {
  expect(await stock('reactor.is_leader')).toBe(true);
  expect(await stock('reactor.set_leader', 'False')).toBe(false);
  const { stdout } = await master.brine('run', ['reactor.is_leader', '--out', 'json']);
  expect(JSON.parse(stdout)).toBe(false);
  expect(await stock('reactor.set_leader')).toBe(true);
});

it('leaves the key that the runner sends in no event and in no file', async () => {
  const own = `.${userInfo().username}_key`;
  const key = (await readFile(join(master.home.cacheDir, own), 'utf8')).trim();
  const { stdout } = await master.brine('events', ['--no-follow', '--json']);
  expect(stdout.includes('salt/reactors/manage/set_leader')).toBe(true);
  // Not printed where it fails: the events are long.
  expect(stdout.includes(key)).toBe(false);
  const { dir } = master.sandbox;
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  const holding: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    // What is written while the master runs may be gone by now.
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    if (bytes.includes(key)) holding.push(relative(master.home.cacheDir, path));
  }
  expect(holding).toEqual([own]);
});

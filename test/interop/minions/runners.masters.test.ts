import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, newestOf, type SaltVenv, saltVenv } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { Subscriber } from '@brine/zmq';
import { afterAll, beforeAll, expect, it } from 'vitest';

/*
 * Runners about minions and their data, by `brine run` at a master of two workers with stock
 * minions of two releases. `gone` has a key, signed in once, hears jobs and answers none.
 */

const VERSIONS = [newestOf('3006'), newestOf('3008')];
const [OLD, NEW] = ['run-old', 'run-new'];
const IDS = [OLD, NEW];
const GONE = 'gone';

let master: BrineMaster;
let subscription: Subscriber;

beforeAll(async () => {
  const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
  master = await BrineMaster.start(
    { gather_job_timeout: 3, brine: { workers: 2 } },
    {
      onHome: async ({ configDir }) => {
        const pillar = join(configDir, 'pillar');
        await mkdir(pillar, { recursive: true });
        await writeFile(join(pillar, 'top.sls'), "base:\n  '*': [common]\n");
        await writeFile(join(pillar, 'common.sls'), 'owner: {{ grains.id }}\n');
      },
    },
  );
  const mine = { 'test.ping': [], id_of: [{ mine_function: 'grains.get' }, 'id'] };
  for (const [index, id] of IDS.entries()) {
    const config = { mine_functions: mine, grains: { role: `role-${id}` } };
    const home = await master.sandbox.minion(id, master.home.retPort, config);
    master.sandbox.startMinion(venvs[index] as SaltVenv, home);
  }
  const gone = await TestPeer.make(GONE, master.home.retPort);
  await gone.tryToSignIn();
  await master.acceptKeys([...IDS, GONE], 120_000);
  await gone.tryToSignIn();
  await gone.send(mapOf({ cmd: '_mine_flush', id: GONE }));
  gone.close();
  subscription = new Subscriber({ endpoint: `tcp://127.0.0.1:${master.home.publishPort}` });
  await master.waitForMinions(IDS, 180_000);
});
afterAll(async () => {
  await subscription?.close();
  await master.close();
});

/** What a runner returns, by the outputter json. */
async function run(...words: readonly string[]): Promise<unknown> {
  const all = [...words, '--out', 'json'];
  const { code, stdout, stderr } = await master.brine('run', all, 120_000);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as unknown;
}

const byId = (value: (id: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(IDS.map((id) => [id, value(id)]));

it('minions that answer are up, releases are compared', async () => {
  expect(await run('manage.status')).toEqual({ up: [...IDS].sort(), down: [GONE] });
  expect(await run('manage.up', 'tgt=run-*')).toEqual([...IDS].sort());
  expect(await run('manage.down', 'timeout=2')).toEqual([GONE]);
  expect(await run('manage.versions')).toMatchObject({
    Master: '3008.5',
    'Minion offline': { [GONE]: false },
    'Minion requires update': { [OLD]: VERSIONS[0] },
  });
});

it('minions of one address are present while a connection of it stands, whether they answer or not', async () => {
  const all = [...IDS, GONE].sort();
  await until(
    'all log-ins and connections are heard',
    async () => {
      expect(await run('manage.present')).toEqual(all);
      return true;
    },
    { withinMs: 60_000 },
  );
  expect(await run('manage.not_alived')).toEqual([]);
  expect(await run('manage.joined', `subset=${NEW},nobody`)).toEqual([NEW]);
  const addresses = (await run('manage.alived', 'show_ip=True')) as Record<string, string>;
  expect(Object.keys(addresses).sort()).toEqual(all);
  expect(addresses[NEW]).toMatch(/^[\d.]+$/);
});

it('grains and pillars are shown, forgotten, and kept again when they come', async () => {
  expect(await run('cache.grains', NEW)).toMatchObject({ [NEW]: { role: `role-${NEW}` } });
  expect(await run('cache.pillar', 'run-*')).toEqual(byId((id) => ({ owner: id })));
  expect(await run('cache.list', 'grains')).toEqual([...IDS].sort());
  expect(await run('cache.fetch', 'pillar', OLD)).toEqual({ owner: OLD });
  expect(await run('pillar.show_pillar_cache', 'run-o*')).toEqual({ [OLD]: { owner: OLD } });

  // Either of the two workers may get what the minion sends next.
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await run('cache.clear_all', NEW)).toBe(true);
    expect(await run('cache.grains', NEW)).toEqual({ [NEW]: {} });
    expect(await run('cache.pillar', 'run-*')).toEqual({
      [NEW]: {},
      [OLD]: { owner: OLD },
    });
    await master.brine('salt', [NEW, 'saltutil.refresh_pillar', 'wait=True'], 60_000);
    const back = async () => (await run('cache.pillar', NEW)) as Record<string, object>;
    await until('grains and pillar came again', async () => {
      const grains = (await run('cache.grains', NEW)) as Record<string, object>;
      return Object.keys({ ...grains[NEW], ...(await back())[NEW] }).includes('owner');
    });
  }
  expect(await run('cache.grains', NEW)).toMatchObject({ [NEW]: { role: `role-${NEW}` } });
});

it('the mine is renewed, read and forgotten', async () => {
  expect(await run('mine.update', 'run-*')).toEqual(byId(() => true));
  expect(await run('mine.get', '*', 'id_of')).toEqual(byId((id) => id));
  expect(await run('mine.get', 'run-new', 'id_of,test.ping')).toEqual({
    id_of: { [NEW]: NEW },
    'test.ping': { [NEW]: true },
  });
  expect(await run('cache.clear_mine_func', 'run-new', 'clear_mine_func_flag=id_of')).toBe(true);
  expect(await run('cache.mine', '*')).toMatchObject({
    [NEW]: { 'test.ping': true },
    [OLD]: { 'test.ping': true, id_of: OLD },
  });
  expect(await run('cache.flush', 'mine', OLD)).toBe(true);
  expect(await run('mine.get', '*', 'id_of')).toEqual({});
});

it('a survey, a target and functions of minions by the master', async () => {
  expect(await run('survey.hash', 'run-*', 'test.echo', 'same')).toEqual([
    { pool: [...IDS].sort(), result: 'same' },
  ]);
  expect(await run('salt.execute', 'run-*', 'grains.get', 'role')).toEqual(
    byId((id) => `role-${id}`),
  );
  expect(await run('salt.cmd', 'test.version')).toBe('3008.5');
  expect(await run('match.compound_matches', `G@role:role-${NEW}`, NEW)).toEqual({ res: NEW });
  expect(await run('match.compound_matches', `G@role:role-${NEW}`, OLD)).toEqual({ res: false });
  const silent = (await run('salt.execute', 'gone', 'test.ping', 'timeout=1')) as object;
  expect(JSON.stringify(silent)).toContain('Minion did not return. [No response]');
});

it('what a runner prints comes before what it returns', async () => {
  const { code, stdout } = await master.brine('run', ['test.stdout_print']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'foo\nbar\n' });
  const slept = await master.brine('run', ['test.sleep', '1']);
  expect(slept.stdout).toBe('1\nTrue\n');
  const asked = await master.brine('run', [
    'jobs.list_job',
    '20200101000000000000',
    'display_progress=True',
  ]);
  expect(asked.stdout).toMatch(/^Querying returner local_cache\n/);
});

it('runners under way are listed, whichever worker has them', async () => {
  for (let n = 0; n < 4; n += 1) await master.brine('run', ['--async', 'test.sleep', '25']);
  await until('four sleepers and the question itself run', async () => {
    const found = (await run('jobs.master')) as { fun: string; pid: number }[];
    const sleepers = found.filter(({ fun }) => fun === 'runner.test.sleep');
    return sleepers.length >= 4 && sleepers.every(({ pid }) => pid > 1);
  });
});

it('an error that a function raises ends the command with 1', async () => {
  const args = ['error.error', 'name=SaltInvocationError', 'message=why'];
  const { code, stdout } = await master.brine('run', args);
  expect(code).toBe(1);
  expect(stdout).toContain('salt.exceptions.SaltInvocationError: why');
});

it('keys of minions that are down are deleted where that is asked for, and nothing else', async () => {
  expect(await run('manage.down', 'removekeys=True')).toEqual([GONE]);
  const { stdout } = await master.brine('key', ['-l', 'acc', '--out', 'json']);
  expect(JSON.parse(stdout)).toEqual({ minions: [...IDS].sort() });
  expect(await run('manage.not_present')).toEqual([]);
});

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type BrineMaster, newestOf, type SaltVersion } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINIONS, StockCli } from './stock-cli.ts';

const [FIRST = '', SECOND = ''] = MINIONS;

/** Each layout with the releases whose tools read it. */
const LAYOUTS: readonly (readonly [layout: '3006' | '3008', versions: readonly SaltVersion[]])[] = [
  ['3006', [newestOf('3006'), newestOf('3007')]],
  ['3008', [newestOf('3008')]],
];

describe.each(LAYOUTS)('minion data on disk as %s keeps them', (layout, versions) => {
  let cli: StockCli;
  let master: BrineMaster;

  beforeAll(async () => {
    cli = await StockCli.start(versions, {
      brine: { minion_banks: layout },
      master: { pillar_roots: { base: ['/nowhere'] } },
    });
    master = cli.master;
    await store('pillar', FIRST, '{role: web, secret: s3cret}');
    await store('mine', FIRST, '{test.echo: [1, 2], site.list: {a: b}}');
  });
  afterAll(async () => {
    await master?.close();
  });

  async function store(bank: string, id: string, data: string): Promise<void> {
    const { code } = await master.brine('run', ['cache.store', bank, id, data]);
    expect(code).toBe(0);
  }

  const fileOf = (bank: 'grains' | 'pillar' | 'mine', id: string): string => {
    const { cacheDir } = master.home;
    if (layout === '3008') return join(cacheDir, bank, `${id}.p`);
    return join(cacheDir, 'minions', id, bank === 'mine' ? 'mine.p' : 'data.p');
  };

  const written = (bank: 'grains' | 'pillar' | 'mine', id: string, text: string) =>
    until(`${bank} of ${id} is on disk`, async () => {
      const bytes = await readFile(fileOf(bank, id)).catch(() => Buffer.alloc(0));
      return bytes.includes(text);
    });

  async function ask(version: SaltVersion, command: string, ...args: string[]): Promise<unknown> {
    const { code, stdout, stderr } = await cli.run(version, command, [...args, '--out', 'json']);
    // Salt 3008.5 warns of objects of its own that it did not close.
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  }

  async function brine(...args: string[]): Promise<unknown> {
    const { stdout } = await master.brine('run', [...args, '--out', 'json']);
    return JSON.parse(stdout);
  }

  it.each(versions)('salt-run %s shows the same grains, pillar and mine', async (version) => {
    await written('pillar', FIRST, 's3cret');
    await written('mine', FIRST, 'site.list');
    for (const id of MINIONS) await written('grains', id, 'ipv4');
    for (const args of [
      ['cache.grains', '*'],
      ['cache.pillar', FIRST],
      ['cache.mine', FIRST],
      ['mine.get', '*', 'site.list'],
    ]) {
      expect(await ask(version, 'salt-run', ...args), args.join(' ')).toEqual(await brine(...args));
    }
  });

  it.each(versions)('salt %s --preview-target judges by grains and pillar', async (version) => {
    const preview = (...target: string[]): Promise<unknown> =>
      ask(version, 'salt', '--preview-target', ...target);
    expect([...((await preview('-G', 'kernel:Linux')) as string[])].sort()).toEqual([...MINIONS]);
    expect(await preview('-G', `id:${SECOND}`)).toEqual([SECOND]);
    expect(await preview('-I', 'role:web')).toEqual([FIRST]);
  });

  it.each(versions)('salt-run %s manage.present names the connected minions', async (version) => {
    // Salt looks for addresses of this host other than loopback, as minions connect by that.
    const isReachable = Object.values(networkInterfaces()).some((list = []) =>
      list.some(({ internal, family }) => !internal && family === 'IPv4'),
    );
    const present = (await ask(version, 'salt-run', 'manage.present')) as string[];
    expect([...present].sort()).toEqual(isReachable ? [...MINIONS] : []);
  });

  it('only the user of the master reads them', () => {
    for (const bank of ['grains', 'pillar', 'mine'] as const) {
      expect(statSync(fileOf(bank, FIRST)).mode & 0o777).toBe(0o600);
    }
  });

  it('data that change are written again, and go with the key', async () => {
    await store('pillar', SECOND, '{role: gone-soon}');
    await written('pillar', SECOND, 'gone-soon');
    await store('pillar', SECOND, '{role: changed}');
    await written('pillar', SECOND, 'changed');
    const { code } = await master.brine('key', ['-d', SECOND, '-y']);
    expect(code).toBe(0);
    await until('the files of the minion are gone', async () => {
      const bytes = await readFile(fileOf('grains', SECOND)).catch(() => undefined);
      return bytes === undefined;
    });
  });
});

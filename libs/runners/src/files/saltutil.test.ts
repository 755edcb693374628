import { isMap, mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { memoryHost } from '../../test/memory-host.ts';
import { sceneOf } from '../../test/runner-master.ts';

const EXTMODS = '/cache/extmods';

/** A master with these files by environment, and what is on its disk. */
function scene(
  roots: Readonly<Record<string, Readonly<Record<string, string>>>>,
  configured: Readonly<Record<string, SaltValue>> = {},
) {
  const disk = new Map<string, string>();
  for (const [env, files] of Object.entries(roots)) {
    for (const [path, text] of Object.entries(files)) disk.set(`/srv/${env}/${path}`, text);
  }
  let refreshed = 0;
  const files = {
    lists: async (env: string) => ({ files: Object.keys(roots[env] ?? {}) }),
    find: async (path: string, env: string) =>
      disk.has(`/srv/${env}/${path}`) ? { path: `/srv/${env}/${path}` } : undefined,
  };
  const made = sceneOf([], {
    configured: { extension_modules: EXTMODS, ...configured },
    more: {
      files,
      hostFiles: memoryHost(disk),
      site: { refresh: async () => void (refreshed += 1) },
    } as never,
  });
  const synced = (): string[] => [...disk.keys()].filter((path) => path.startsWith(EXTMODS)).sort();
  return { disk, synced, refreshed: () => refreshed, ...made };
}

const BASE = {
  '_modules/lab.py': 'lab',
  '_modules/pkg/deep.pyx': 'deep',
  '_modules/notes.txt': 'no module',
  '_modulesque/x.py': 'another directory',
  '_runners/site.py': 'site',
  '_proxy/dev.py': 'dev',
  'top.sls': '{}',
};

test('modules are copied by their kind, and named when they are new or changed', async () => {
  const { value, disk, synced, refreshed } = scene({ base: BASE });
  expect(await value('saltutil.sync_modules')).toEqual(['modules.lab', 'modules.pkg.deep']);
  expect(synced()).toEqual([`${EXTMODS}/modules/lab.py`, `${EXTMODS}/modules/pkg/deep.pyx`]);
  expect(refreshed()).toBe(1);
  expect(await value('saltutil.sync_modules')).toEqual([]);
  disk.set('/srv/base/_modules/lab.py', 'new');
  expect(await value('saltutil.sync_modules')).toEqual(['modules.lab']);
  expect(disk.get(`${EXTMODS}/modules/lab.py`)).toBe('new');
  expect(await value('saltutil.sync_proxymodules')).toEqual(['proxy.dev']);
});

test('all kinds are synchronised in Salt’s order', async () => {
  const { value } = scene({ base: BASE });
  const all = await value('saltutil.sync_all');
  if (!isMap(all)) throw new Error('no map');
  expect([...all.keys()].slice(0, 4)).toEqual(['clouds', 'modules', 'states', 'grains']);
  expect([...all.keys()]).toHaveLength(24);
  expect(all.get('runners')).toEqual(['runners.site']);
  expect(all.get('tokens')).toEqual([]);
});

test('what is no longer in the file roots goes, unless that is switched off', async () => {
  const stale = `${EXTMODS}/modules/stale.py`;
  const cleaning = scene({ base: BASE });
  cleaning.disk.set(stale, 'old');
  await cleaning.value('saltutil.sync_modules');
  expect(cleaning.disk.has(stale)).toBe(false);
  const keeping = scene({ base: BASE }, { clean_dynamic_modules: false });
  keeping.disk.set(stale, 'old');
  await keeping.value('saltutil.sync_modules');
  expect(keeping.disk.has(stale)).toBe(true);
});

test('environments, a whitelist and a blacklist narrow what is copied', async () => {
  const roots = { base: BASE, dev: { '_modules/lab.py': 'of dev', '_modules/only.py': 'x' } };
  const both = scene(roots);
  expect(await both.value('saltutil.sync_modules', ['base,dev'])).toEqual([
    ...['modules.lab', 'modules.pkg.deep', 'modules.lab', 'modules.only'],
  ]);
  expect(both.disk.get(`${EXTMODS}/modules/lab.py`)).toBe('of dev');
  const white = scene(roots, { extmod_whitelist: mapOf({ modules: ['lab'] }) });
  expect(await white.value('saltutil.sync_modules')).toEqual(['modules.lab']);
  expect(await white.value('saltutil.sync_runners')).toEqual(['runners.site']);
  const black = scene(roots);
  const given = mapOf({ extmod_blacklist: 'lab' });
  expect(await black.value('saltutil.sync_modules', [], given)).toEqual(['modules.pkg.deep']);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVED } from '@brine/config';
import { PyFunction } from '@brine/jinja';
import type { PillarOptions, PillarPorts } from '@brine/pillar';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, onTestFinished, test } from 'vitest';
import { Externals, type ExternalsData } from './pillar-externals.ts';

const OPTIONS: PillarOptions = {
  renderer: 'jinja|yaml',
  rendererBlacklist: [],
  rendererWhitelist: [],
  stateTop: 'top.sls',
  mergingStrategy: 'smart',
  mergeLists: false,
  includesOverrideSls: false,
  safeRenderError: true,
  pillarOpts: false,
  pillarenv: null,
  pillarenvFromSaltenv: false,
  envOrder: [],
  extPillarFirst: false,
  extPillar: [],
  excludeExtPillar: [],
  onDemandExtPillar: [],
  decrypt: { keys: [], delimiter: ':', renderers: ['gpg'] },
  saltVersion: '',
  nodegroups: {},
  trimBlocks: false,
  lstripBlocks: false,
  allowUndefined: false,
  opts: mapOf({}),
};
const DATA: ExternalsData = {
  gitDefaults: { base: '', branch: '', env: '', fallback: '', root: '' },
  gitIncludes: false,
  // A port that refuses.
  postgres: { host: '127.0.0.1', port: 1, user: 'a', password: 'a', database: 'a' },
};
const SETTINGS = {
  pillarRoots: {},
  nodegroups: {},
  checkout: () => '/nonexistent',
  log: () => undefined,
};
const PORTS: PillarPorts = {
  files: { environments: [], read: () => undefined, list: () => [] },
  outside: { now: () => 0, random: () => 0 },
  functions: () => new Map(),
  decrypt: (value) => value,
  external: () => undefined,
  log: () => undefined,
};

/** True if an external pillar exists: it answers or fails, even without arguments. */
async function isServed(name: string): Promise<boolean> {
  const options = { ...OPTIONS, extPillar: [mapOf({ [name]: null })] };
  const externals = new Externals(DATA, SETTINGS, options);
  const override = new Map<SaltValue, SaltValue>();
  const grains = mapOf({});
  const minion = { id: 'a', grains, saltenv: null, pillarenv: null, override, ext: null };
  await externals.askEarly(minion);
  try {
    return externals.ask(name, minion, null, { ports: PORTS, pillar: mapOf({}) }) !== undefined;
  } catch {
    return true;
  }
}

test('the external pillars that options may name without a warning are supported', async () => {
  const salts = ['mysql', 'vault', 'consul_pillar', 'foreman', 'reclass_adapter', 'stack', 's3'];
  const asked = [...SERVED.ext_pillar, ...salts];
  const served = await Promise.all(asked.map(async (name) => [name, await isServed(name)]));
  expect(served.filter(([, is]) => is).map(([name]) => name)).toEqual(SERVED.ext_pillar);
});

test('a template of file_tree has the host only where the master named it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-tree-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'hosts', 'a'), { recursive: true });
  const text = "{{ 'cmd.run' in salt }} {{ opts.get('secret') }} {{ opts.id }} {{ grains.os }}";
  writeFileSync(join(dir, 'hosts', 'a', 'f'), text);
  writeFileSync(join(dir, 'hosts', 'a', 'g'), '#!gpg\nsealed');
  const args = mapOf({ root_dir: dir, template: true, render_default: 'jinja' });
  const ports: PillarPorts = {
    ...PORTS,
    functions: () => new Map([['cmd.run', new PyFunction('cmd.run', () => 'root')]]),
    decrypt: () => 'open',
  };
  const opts = mapOf({ id: 'the_master', secret: 'of the master' });
  const made = (ext: SaltMap | null): SaltValue | undefined => {
    const externals = new Externals(DATA, SETTINGS, { ...OPTIONS, opts });
    const minion = { id: 'a', grains: mapOf({ os: 'Debian' }), saltenv: null, pillarenv: null };
    return externals.ask('file_tree', { ...minion, override: mapOf({}), ext }, args, {
      ports,
      pillar: mapOf({}),
    });
  };
  expect(made(null)).toEqual(mapOf({ f: 'True of the master the_master Debian', g: 'open' }));
  const chosen = made(mapOf({ file_tree: args }));
  expect(chosen).toEqual(mapOf({ f: 'False None a Debian', g: '#!gpg\nsealed' }));
});

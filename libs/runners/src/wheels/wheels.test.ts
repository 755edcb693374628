import { isMap, mapOf, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { memoryHost } from '../../test/memory-host.ts';
import { sceneOf } from '../../test/runner-master.ts';
import { isTextHead } from './roots.ts';

const ROOTS = {
  file_roots: { base: ['/srv/salt', '/srv/more'], dev: ['/srv/dev'] },
  pillar_roots: { base: ['/srv/pillar'] },
};

function scene(
  files: Readonly<Record<string, string>> = {},
  configured: Readonly<Record<string, SaltValue>> = {},
) {
  const disk = new Map(Object.entries(files));
  const more = { hostFiles: memoryHost(disk, ROOTS) } as never;
  const made = sceneOf(['web1'], { configured, more, rules: { rotateAesKey: true } });
  const wheel = async (fun: string, ...args: SaltValue[]): Promise<SaltValue> => {
    const outcome = await made.wheel(fun, args);
    if (!outcome.success) throw new Error(pyStr(outcome.value));
    return outcome.value;
  };
  return { ...made, disk, wheel };
}

test('a file is found and read in the order of its roots, text alone', async () => {
  const files = {
    '/srv/salt/top.sls': 'base: {}',
    '/srv/more/top.sls': 'more: \u00c3\u00bc',
    '/srv/more/bin': 'a\0b',
    '/srv/salt/bin': 'text',
    '/srv/pillar/secret.sls': 'x: 1',
  };
  const { wheel } = scene(files);
  expect(await wheel('file_roots.find', 'top.sls')).toEqual([
    mapOf({ '/srv/salt/top.sls': 'txt' }),
    mapOf({ '/srv/more/top.sls': 'txt' }),
  ]);
  expect(await wheel('file_roots.find', 'bin')).toEqual([
    mapOf({ '/srv/salt/bin': 'txt' }),
    mapOf({ '/srv/more/bin': 'bin' }),
  ]);
  expect(await wheel('file_roots.read', 'top.sls')).toEqual([
    mapOf({ '/srv/salt/top.sls': 'base: {}' }),
    mapOf({ '/srv/more/top.sls': 'more: ü' }),
  ]);
  expect(await wheel('file_roots.read', 'bin')).toEqual([mapOf({ '/srv/salt/bin': 'text' })]);
  expect(await wheel('pillar_roots.read', 'secret.sls')).toEqual([
    mapOf({ '/srv/pillar/secret.sls': 'x: 1' }),
  ]);
  for (const path of ['../pillar/secret.sls', '/srv/pillar/secret.sls', 'none']) {
    expect(await wheel('file_roots.find', path)).toEqual([]);
  }
  expect(await wheel('file_roots.find', 'top.sls', 'none')).toEqual([]);
});

test('the roots are listed as trees by environment', async () => {
  const { wheel } = scene({ '/srv/salt/a/b.sls': '', '/srv/more/c': '', '/srv/dev/d': '' });
  const base = mapOf({
    '/srv/salt': mapOf({ a: mapOf({ 'b.sls': 'f' }) }),
    '/srv/more': mapOf({ c: 'f' }),
  });
  expect(await wheel('file_roots.list_env')).toEqual(base);
  expect(await wheel('file_roots.list_env', 'none')).toEqual(mapOf({}));
  expect(await wheel('file_roots.list_roots')).toEqual(
    mapOf({ base: [base], dev: [mapOf({ '/srv/dev': mapOf({ d: 'f' }) })] }),
  );
});

test('a file is written below a root, and Salt’s texts say why one is not', async () => {
  const { wheel, disk } = scene();
  expect(await wheel('file_roots.write', 'x: 1', 'a/b.sls')).toBe(
    'Wrote data to file /srv/salt/a/b.sls',
  );
  expect(await wheel('file_roots.write', 'y', 'c', 'base', 1)).toBe(
    'Wrote data to file /srv/more/c',
  );
  expect([...disk]).toEqual([
    ['/srv/salt/a/b.sls', 'x: 1'],
    ['/srv/more/c', 'y'],
  ]);
  const write = (...args: SaltValue[]) => wheel('file_roots.write', 'z', ...args);
  expect(await write('x', 'none')).toBe('Named environment none is not present');
  for (const index of [2, -1]) {
    expect(await write('x', 'base', index)).toBe(
      `Specified index ${index} in environment base is not present`,
    );
  }
  expect(await write('/x')).toBe('The path passed in /x is not relative to the environment base');
  expect(await write('../x')).toBe('Invalid path: ../x');
  expect(await wheel('pillar_roots.write', 'z', '../x')).toBe('Invalid path');
  await expect(wheel('file_roots.write', 7, 'x')).rejects.toThrow('expected str');
  await expect(wheel('file_roots.write', 'x'.repeat(9_000_000), 'x')).rejects.toThrow('at most');
  expect(disk.size).toBe(2);
});

test('text is told from other bytes as Salt does', () => {
  const of = (text: string): boolean => isTextHead(Buffer.from(text, 'latin1'));
  expect([of(''), of('plain\n'), of('a\0b')]).toEqual([true, true, false]);
  expect(isTextHead(Buffer.from('ünïcödé'.repeat(20)))).toBe(true);
  // Cut within a character.
  expect(isTextHead(Buffer.from('üüüü').subarray(0, 7))).toBe(true);
  expect(of('\u0001\u0002\u00ff\u00fe'.repeat(9))).toBe(false);
});

const CONFIGURED = {
  config_dir: '/etc/salt',
  default_include: 'master.d/*.conf',
  pki_dir: '/pki',
  saltgui_templates: mapOf({ a: 1 }),
};

test('the configuration is shown, and written into the included directory alone', async () => {
  const { wheel, disk } = scene({}, CONFIGURED);
  expect(await wheel('config.values')).toEqual(mapOf(CONFIGURED));
  expect(await wheel('config.update_config', 'gui', mapOf({ id: 1, l: ['x'] }))).toBe(
    'Wrote gui.conf',
  );
  expect(disk.get('/etc/salt/master.d/gui.conf')).toBe('id: 1\nl:\n- x\n');
  for (const name of ['../master', 'a/b', '.hidden', 'x\0y']) {
    expect(await wheel('config.update_config', name, mapOf({ id: 1 }))).toBe('Invalid path');
  }
  await expect(wheel('config.update_config', 'gui', 'text')).rejects.toThrow('dictionary');
  expect(await wheel('config.apply', 'timeout', 7)).toBe(null);
  expect(await wheel('config.apply', 'file_roots', mapOf({ base: ['/x'] }))).toBe(null);
  expect(disk.get('/etc/salt/master.d/zz-config-apply.conf')).toBe(
    'file_roots:\n  base:\n  - /x\ntimeout: 7\n',
  );
  await expect(wheel('config.apply', 'a: b\nc', 1)).rejects.toThrow('no name of an option');
  const nowhere = scene({}, { ...CONFIGURED, default_include: '*/x.conf' });
  await expect(nowhere.wheel('config.apply', 'a', 1)).rejects.toThrow('no directory');
});

test('the keys of the master have its name, and keys are listed and printed by section', async () => {
  const { wheel, memory } = scene();
  const all = await wheel('key.list', 'all');
  expect(isMap(all) && all.get('local')).toEqual(['test.pem', 'test.pub']);
  expect(await wheel('key.list_all')).toEqual(all);
  expect(await wheel('key.list', 'accepted')).toEqual(mapOf({ minions: ['web1'] }));
  const printed = mapOf({ minions: mapOf({ web1: memory.minionKeys.get('web1')?.pub }) });
  expect(await wheel('key.print', 'web1')).toEqual(printed);
  const shown = await wheel('key.master_key_str');
  expect(isMap(shown) && [...(shown.get('local') as Map<string, string>).keys()]).toEqual([
    'test.pub',
  ]);
});

test('a pair is made for a minion once, or again by force, and goes on record', async () => {
  const { wheel, memory } = scene();
  const made = await wheel('key.gen_accept', 'new');
  if (!isMap(made)) throw new Error('no map');
  expect(textOf(made, 'priv')).toContain('-----BEGIN RSA PRIVATE KEY-----');
  expect(memory.minionKeys.get('new')).toMatchObject({
    state: 'accepted',
    pub: textOf(made, 'pub'),
  });
  expect(memory.audited).toMatchObject([
    { kind: 'key', outcome: 'none to accepted', target: 'new' },
  ]);
  expect(await wheel('key.gen_accept', 'new')).toEqual(mapOf({}));
  const again = await wheel('key.gen_accept', 'new', 2048, true);
  expect(isMap(again) && textOf(again, 'pub')).not.toBe(textOf(made, 'pub'));
  expect(memory.audited).toHaveLength(2);
  for (const id of ['', '../x', 'a/b', 'a\nb', '..']) {
    await expect(wheel('key.gen_accept', id)).rejects.toThrow('no id of a minion');
  }
  const pair = await wheel('key.gen', null, 1024);
  expect(isMap(pair) && [...pair.keys()]).toEqual(['priv', 'pub']);
  await expect(wheel('key.gen', null, 100_000)).rejects.toThrow('are not made');
});

test('a pair is written into the directory of keys, and over no file', async () => {
  const { wheel, disk } = scene({ '/pki/master.pem': 'the key' }, { ...CONFIGURED, keysize: 2048 });
  expect(await wheel('key.gen_keys', null, 'edge')).toMatch(/^([0-9a-f]{2}:){31}[0-9a-f]{2}$/);
  expect([...disk.keys()]).toEqual(['/pki/master.pem', '/pki/edge.pem', '/pki/edge.pub']);
  await expect(wheel('key.gen_keys', null, 'master')).rejects.toThrow('is there already');
  await expect(wheel('key.gen_keys', '/elsewhere')).rejects.toThrow('pki_dir only');
  await expect(wheel('key.gen_keys', null, '../x')).rejects.toThrow('no name of a key');
  await expect(wheel('key.gen_keys', null, 'x', null, 'root')).rejects.toThrow('not served');
  expect(disk.get('/pki/master.pem')).toBe('the key');
});

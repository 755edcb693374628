import { isMap, mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { memoryHost } from '../../test/memory-host.ts';
import { back, sceneOf } from '../../test/runner-master.ts';
import { RUNNERS, WHEELS } from '../table.ts';
import { refusedBecause } from './refused.ts';

test('an event is fired with its tag as it is, and only with a map', async () => {
  const { value, run, fired } = sceneOf([]);
  expect(await value('event.send', ['lab/runner', mapOf({ a: 1 })])).toBe(true);
  expect(await value('event.send', ['lab/none'])).toBe(true);
  expect(fired).toEqual([
    ['lab/runner', mapOf({ a: 1 })],
    ['lab/none', mapOf({})],
  ]);
  expect((await run('event.send', ['x', 'text'])).value).toContain(
    "Dict object expected, not 'text'.",
  );
  expect((await run('event.send', ['x\ny', mapOf({})])).success).toBe(false);
});

test('an option is found below its name, in lists and maps, or its default is shown', async () => {
  const configured = {
    file_roots: mapOf({ base: ['/srv/salt', mapOf({ k: 'v' })], 7: 'seven' }),
    empty: null,
  };
  configured.file_roots.set(7, 'seven');
  const { value } = sceneOf([], { configured });
  expect(await value('config.get', ['file_roots:base:0'])).toBe('/srv/salt');
  expect(await value('config.get', ['file_roots,base', 'x', ','])).toEqual([
    '/srv/salt',
    mapOf({ k: 'v' }),
  ]);
  expect(await value('config.get', ['file_roots:base:k'])).toBe('v');
  expect(await value('config.get', ['file_roots:7'])).toBe('seven');
  expect(await value('config.get', ['file_roots:base:9', 'no'])).toBe('no');
  expect(await value('config.get', ['nothing'])).toBe('');
  expect(await value('config.get', ['empty', 'no'])).toBe(null);
});

const STORES = {
  osenv: mapOf({ driver: 'env' }),
  files: mapOf({ driver: 'yaml', files: ['/a.yaml', '/b.yaml'] }),
  locked: mapOf({ driver: 'yaml', files: ['/a.yaml'], gpg: true }),
  safe: mapOf({ driver: 'vault' }),
};
const ON_DISK = new Map([
  ['/a.yaml', 'db: {user: app, pass: old}\nlist: [1]\n'],
  ['/b.yaml', 'db: {pass: new}\n'],
]);

function sdbScene() {
  const env = { COLOUR: 'red', BRINE_NATS_PASSWORD: 'x' };
  const hostFiles = memoryHost(ON_DISK, {}, env);
  return sceneOf([], { configured: STORES, more: { hostFiles } });
}

test('sdb reads the environment and YAML files, the later ones over the earlier ones', async () => {
  const { value } = sdbScene();
  expect(await value('sdb.get', ['sdb://osenv/COLOUR'])).toBe('red');
  expect(await value('sdb.get', ['sdb://osenv/NOTHING'])).toBe(null);
  expect(await value('sdb.get', ['sdb://osenv/BRINE_NATS_PASSWORD'])).toBe(null);
  expect(await value('sdb.get', ['sdb://files/db'])).toEqual(mapOf({ user: 'app', pass: 'new' }));
  expect(await value('sdb.get', ['sdb://files/db:pass'])).toBe('new');
  for (const uri of ['plain', 'sdb://nothing/x', 'sdb://files', 'sdb://files/']) {
    expect(await value('sdb.get', [uri])).toBe(uri);
  }
});

test('sdb says in one line what it does not do', async () => {
  const { run, value } = sdbScene();
  const refused = async (fun: string, ...args: string[]) => {
    const outcome = await run(fun, args);
    expect(outcome).toMatchObject({ success: false, retcode: 1 });
    return outcome.value;
  };
  expect(await refused('sdb.get', 'sdb://safe/x')).toContain('The sdb driver vault is not served');
  expect(await refused('sdb.get', 'sdb://locked/x')).toContain('gpg is not served');
  expect(await refused('sdb.set', 'sdb://files/x', 'y')).toContain('read only');
  expect(await refused('sdb.delete', 'sdb://osenv/x')).toContain('read only');
  expect(await refused('sdb.get_or_set_hash', 'sdb://files/x')).toContain('read only');
  expect(await value('sdb.get_or_set_hash', ['sdb://files/db:user'])).toBe('app');
  expect(await value('sdb.set', ['no address', 'y'])).toBe(false);
});

test('the value of an option may stand in a store', async () => {
  const configured = { ...STORES, secret: 'sdb://files/db:user' };
  const { value } = sceneOf([], { configured, more: { hostFiles: memoryHost(ON_DISK) } });
  expect(await value('config.get', ['secret'])).toBe('app');
});

test('documentation is that of the tables, without what is refused', async () => {
  const { value } = sceneOf([]);
  const [runners, wheels] = [await value('doc.runner'), await value('doc.wheel')];
  if (!isMap(runners) || !isMap(wheels)) throw new Error('no maps');
  expect([...runners.keys()]).toEqual([...RUNNERS.keys()].sort());
  expect([...wheels.keys()]).toEqual([...WHEELS.keys()].sort());
  expect(runners.get('event.send')).toContain('Fires an event');
  expect(runners.has('ssh.cmd')).toBe(false);
});

test('documentation of execution modules is that of a minion which answers', async () => {
  const docs = mapOf({ 'test.ping': 'pongs' });
  const asked = sceneOf(['a', 'b'], { minions: () => [back('a', false), back('b', docs)] });
  expect(await asked.value('doc.execution')).toEqual(docs);
  const tgt = ['a', 'b'];
  expect(asked.commands).toEqual([{ tgt, tgtType: 'list', fun: 'sys.doc', arg: [], isOwn: true }]);
  expect(await sceneOf([]).value('doc.execution')).toEqual([]);
});

test('a refused function answers one line and exit code 1', async () => {
  const { run, wheel } = sceneOf([]);
  for (const fun of ['ssh.cmd', 'cloud.list_sizes', 'winrepo.genrepo', 'net.find', 'pki.status']) {
    const outcome = await run(fun, ['any', 'thing'], mapOf({ at: 'all' }));
    expect(outcome).toMatchObject({ success: false, retcode: 1 });
    expect(outcome.value).toMatch(new RegExp(`^${fun.replace('.', '\\.')} is not served: .+$`));
  }
  expect((await wheel('key.gen_signature')).value).toContain('salt-key --gen-signature');
  expect((await run('no.such')).value).toContain("'no.such' is not available.");
});

test('no function of the table is refused by name', () => {
  for (const name of RUNNERS.keys()) {
    expect([name, refusedBecause('runner', name)]).toEqual([name, undefined]);
  }
  for (const name of WHEELS.keys()) {
    expect([name, refusedBecause('wheel', name)]).toEqual([name, undefined]);
  }
});

import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { deleteFromMine, flushMine, getFromMine, putIntoMine } from './mine.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');

function masterWith(rules: Partial<MasterRules> = {}): MemoryMaster {
  const master = memoryMaster({ masterKey: PrivateKey.parse(auth.master_key.pem), rules });
  for (const [id, os] of Object.entries({ web1: 'Debian', web2: 'Debian', db1: 'Arch' })) {
    master.setKey(id, { state: 'accepted', pub: '', denied: [] });
    master.grains.set(id, mapOf({ os }));
  }
  return master;
}

const load = (entries: Readonly<Record<string, SaltValue>>): SaltMap => mapOf(entries);

async function fill({ ports }: MemoryMaster): Promise<void> {
  for (const id of ['web1', 'web2', 'db1']) {
    const data = mapOf({ 'network.ip': [id], 'test.ping': true });
    await putIntoMine(ports, id, load({ data }));
  }
}

async function ask(
  { ports }: MemoryMaster,
  minion: string,
  fields: Readonly<Record<string, SaltValue>>,
): Promise<SaltValue> {
  return getFromMine(ports, minion, load(fields));
}

test('a minion gets what a target put into the mine, by minion or by function', async () => {
  const master = masterWith();
  await fill(master);
  expect(await ask(master, 'db1', { tgt: 'web*', fun: 'network.ip' })).toEqual(
    mapOf({ web1: ['web1'], web2: ['web2'] }),
  );
  const both = mapOf({ 'network.ip': mapOf({ db1: ['db1'] }), 'test.ping': mapOf({ db1: true }) });
  expect(await ask(master, 'web1', { tgt: 'db1', fun: 'network.ip,test.ping' })).toEqual(both);
  const list = { tgt: ['db1', 'nope'], tgt_type: 'list', fun: ['test.ping', 'test.nope'] };
  expect(await ask(master, 'web1', list)).toEqual(mapOf({ 'test.ping': mapOf({ db1: true }) }));
  const grain = { tgt: 'os:Debian', expr_form: 'grain', fun: 'test.ping' };
  expect(await ask(master, 'web1', grain)).toEqual(mapOf({ web1: true, web2: true }));
  const compound = { tgt: 'G@os:Debian and not web1', tgt_type: 'compound', fun: 'test.ping' };
  expect(await ask(master, 'web1', compound)).toEqual(mapOf({ web2: true }));
  expect(await ask(master, 'web1', { tgt: '*', fun: 7 })).toEqual(new Map());
  expect(await ask(master, 'web1', { fun: 'test.ping' })).toEqual(new Map());
});

test('an update adds, clear replaces, delete removes one, flush removes all', async () => {
  const master = masterWith();
  const { ports } = master;
  await fill(master);
  expect(await putIntoMine(ports, 'web1', load({ data: mapOf({ more: 1 }) }))).toBe(true);
  const keys = async (): Promise<SaltValue[]> => [
    ...((await ports.mines.fetch('web1')) ?? []).keys(),
  ];
  expect(await keys()).toEqual(['network.ip', 'test.ping', 'more']);
  expect(await deleteFromMine(ports, 'web1', load({ fun: 'test.ping' }))).toBe(true);
  expect(await deleteFromMine(ports, 'web1', load({ fun: 'test.nope' }))).toBe(true);
  expect(await keys()).toEqual(['network.ip', 'more']);
  expect(await putIntoMine(ports, 'web1', load({ data: mapOf({ x: 1 }), clear: true }))).toBe(true);
  expect(await keys()).toEqual(['x']);
  expect(await flushMine(ports, 'web1', load({}))).toBe(true);
  expect(await flushMine(ports, 'web1', load({}))).toBe(false);
  expect(await ask(master, 'db1', { tgt: 'web1', fun: 'x' })).toEqual(new Map());
  expect(await putIntoMine(ports, 'web1', load({ data: 'x' }))).toEqual(new Map());
});

test('a value with allow_tgt is for those minions alone, not even for its owner', async () => {
  const master = masterWith();
  const entry = (allow: Readonly<Record<string, SaltValue>>): SaltMap =>
    mapOf({ __data__: 'held', __saltmine_acl__: 1, ...allow });
  const data = mapOf({
    open: entry({}),
    webs: entry({ allow_tgt: 'web*' }),
    arch: entry({ allow_tgt: 'G@os:Arch', allow_tgt_type: 'compound' }),
    nobody: entry({ allow_tgt: 'gone' }),
  });
  await putIntoMine(master.ports, 'web1', load({ data }));
  const seenBy = async (minion: string): Promise<SaltValue[]> => {
    const fun = ['open', 'webs', 'arch', 'nobody'];
    const seen = await ask(master, minion, { tgt: 'web1', fun });
    return seen instanceof Map ? [...seen.keys()] : [];
  };
  expect(await seenBy('web2')).toEqual(['open', 'webs']);
  expect(await seenBy('db1')).toEqual(['open', 'arch']);
  expect(await seenBy('web1')).toEqual(['open', 'webs']);
});

const A = 'a'.repeat(30);
const HOSTILE: readonly (readonly [type: string, tgt: SaltValue])[] = [
  ['compound', '( '.repeat(100_000)],
  ['compound', `${'( '.repeat(150)}web*${' )'.repeat(150)}`],
  ['compound', Array.from({ length: 20_000 }, (_, at) => `E@(a|b){${at}}`).join(' or ')],
  ['pcre', '(w|w)*(e|e)*\\1\\2(?:.|.)*z'],
  ['pcre', `(a|a)*${'(?:a{30}){30}'.repeat(30)}`],
  ['grain_pcre', 'long:(a|a)*\\1b'],
  ['pillar_pcre', `secret:${'(?:b|a)*'.repeat(500)}`],
  ['list', Array.from({ length: 300_000 }, (_, at) => `${at}`)],
  ['list', ','.repeat(1_000_000)],
];

test('a target in allow_tgt that takes too much work hides its value alone', async () => {
  const master = masterWith();
  master.grains.set('db1', mapOf({ os: 'Arch', long: A.repeat(3_000) }));
  await fill(master);
  const values = HOSTILE.map(([allow_tgt_type, allow_tgt], at) => {
    const acl = { __saltmine_acl__: 1, allow_tgt, allow_tgt_type };
    return [`f${at}`, mapOf({ __data__: 'held', ...acl })] as const;
  });
  const shut = mapOf({ __data__: 'held', __saltmine_acl__: 1, allow_tgt: 'web2' });
  for (const [fun, value] of values) {
    await putIntoMine(master.ports, 'web1', load({ data: mapOf({ [fun]: value, shut }) }));
    // What honest minions keep is found beside it, also under the name of the hostile value.
    await putIntoMine(master.ports, 'web2', load({ data: mapOf({ [fun]: 'mine' }) }));
    const seen = await ask(master, 'db1', { tgt: '*', fun: [fun, 'shut', 'test.ping'] });
    const pings = mapOf({ web1: true, web2: true, db1: true });
    expect(seen).toEqual(mapOf({ [fun]: mapOf({ web2: 'mine' }), 'test.ping': pings }));
  }
});

test('all targets of one mine share their work, and hide nothing of another', async () => {
  const master = masterWith();
  const funs = Array.from({ length: 200 }, (_, at) => `f${at}`);
  const slow = (at: number): SaltMap =>
    mapOf({ __data__: 1, __saltmine_acl__: 1, allow_tgt: `db1,${'x,'.repeat(3_000)}${at}` });
  const typed = (at: number): SaltMap => new Map([...slow(at), ['allow_tgt_type', 'list']]);
  const data = mapOf(Object.fromEntries(funs.map((fun, at) => [fun, typed(at)])));
  await putIntoMine(master.ports, 'web1', load({ data }));
  const honest = mapOf({ __data__: 2, __saltmine_acl__: 1, allow_tgt: 'db1' });
  await putIntoMine(master.ports, 'web2', load({ data: mapOf({ f199: honest }) }));
  const seen = (await ask(master, 'db1', { tgt: '*', fun: funs })) as SaltMap;
  expect(seen.size).toBeLessThan(20);
  expect(seen.get('f199')).toEqual(mapOf({ web2: 2 }));
});

test('mine_get of the master limits which minions may ask for which functions', async () => {
  const master = masterWith({ mineGet: { 'web.*': ['network\\..*'], db1: ['test.p'] } });
  await fill(master);
  const asked = { tgt: 'web1', fun: 'network.ip,test.ping' };
  expect(await ask(master, 'web1', asked)).toEqual(
    mapOf({ 'network.ip': mapOf({ web1: ['web1'] }) }),
  );
  expect(await ask(master, 'db1', asked)).toEqual(mapOf({ 'test.ping': mapOf({ web1: true }) }));
  expect(await ask(master, 'other', asked)).toEqual(new Map());
});

test('nothing is kept without minion_data_cache, unless enforce_mine_cache is set', async () => {
  const off = masterWith({ minionDataCache: false });
  await fill(off);
  expect(await off.ports.mines.fetch('web1')).toBeUndefined();
  const enforced = masterWith({ minionDataCache: false, enforceMineCache: true });
  await fill(enforced);
  expect(await enforced.ports.mines.fetch('web1')).toBeDefined();
});

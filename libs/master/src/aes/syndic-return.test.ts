import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltMap, unpackMap } from '@brine/wire';
import { buildSyndicReturn } from '@brine/wire/load';
import { expect, it } from 'vitest';
import type { MinionKey } from '../ports/key-ports.ts';
import type { Request } from '../ports/ports.ts';
import { takeReturn } from './return.ts';
import { takeSyndicReturn } from './syndic-return.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const JID = '20261122071500123456';
const OTHER = '20261122071500123457';
const ACCEPTED: MinionKey = { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] };
const request: Request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };
const RETURN = mapOf({ return: true, retcode: 0, success: true, fun_args: [] });
const LOAD = mapOf({ fun: 'test.ping', tgt: '*', key: 'secret', Minions: ['x', 'y'] });

function above(rules: MemoryMaster['ports']['rules'] | object = { orderMasters: true }) {
  const master = memoryMaster({ masterKey, rules });
  for (const id of ['syn', 'other']) master.setKey(id, ACCEPTED);
  return master;
}

function returned(syndic: string, ids: readonly string[], load: SaltMap = mapOf({}), jid = JID) {
  const returns = new Map(ids.map((id) => [id, RETURN]));
  return { id: syndic, jid, fun: 'test.ping', load, returns, masterId: 'm' };
}

const tagsOf = (master: MemoryMaster): string[] =>
  master.events.filter(({ kind }) => kind === 'ret').map(({ tag }) => tag);

it('the credentials of a command at a lower master are not kept', async () => {
  const master = above();
  const kwargs = mapOf({ key: 'root-key', token: 'a-token' });
  const load = new Map([...LOAD, ...mapOf({ key: 'root-key', password: 'a-password', kwargs })]);
  await takeSyndicReturn(
    master.ports,
    request,
    buildSyndicReturn('syn', [returned('syn', ['x'], load)]),
    'syn',
  );
  expect(master.events.length).toBeGreaterThan(1);
  for (const { body } of master.events) {
    for (const secret of ['root-key', 'a-token', 'a-password']) {
      expect(Buffer.from(body).includes(secret)).toBe(false);
    }
  }
});

it('each return is taken as if its minion had sent it, the load as a list of minions', async () => {
  const master = above();
  const jobs = [returned('syn', ['x', 'y'], LOAD), returned('syn', ['x'], mapOf({}), OTHER)];
  await takeSyndicReturn(master.ports, request, buildSyndicReturn('syn', jobs), 'syn');
  expect(tagsOf(master)).toEqual([
    `salt/job/${JID}/ret/x`,
    `salt/job/${JID}/ret/y`,
    `salt/job/${OTHER}/ret/x`,
  ]);
  expect(unpackMap(master.events.find(({ minion }) => minion === 'x')!.body)).toEqual(
    new Map([...RETURN, ['jid', JID], ['id', 'x'], ['fun', 'test.ping'], ['master_id', 'm']]),
  );
  const [expected, ...more] = master.events.filter(({ kind }) => kind === 'sighting');
  expect(more).toEqual([]);
  expect(unpackMap(expected!.body)).toEqual(
    mapOf({
      jid: JID,
      ids: ['x', 'y'],
      kind: 'below',
      syndic: 'syn',
      deadline: 3600,
      load: mapOf({ fun: 'test.ping', tgt: '*' }),
    }),
  );
});

it('an old syndic brings one job at the top', async () => {
  const master = above();
  const job = mapOf({ id: 'syn', jid: JID, fun: 'f', return: new Map([['x', RETURN]]) });
  await takeSyndicReturn(master.ports, request, job, undefined);
  expect(tagsOf(master)).toEqual([`salt/job/${JID}/ret/x`]);
});

it('a return by two syndics and of the minion itself is the same return each time', async () => {
  const master = above();
  for (const syndic of ['syn', 'other', 'syn']) {
    const load = buildSyndicReturn(syndic, [returned(syndic, ['x'])]);
    await takeSyndicReturn(master.ports, request, load, syndic);
  }
  const own = new Map([...RETURN, ['jid', JID], ['id', 'x'], ['fun', 'test.ping']]);
  await takeReturn(master.ports, request, pack(own));
  // Readers get four events; the store counts one return, by its job, minion and content.
  expect(tagsOf(master)).toEqual(Array(4).fill(`salt/job/${JID}/ret/x`));
  const content = ({ body }: { readonly body: Uint8Array }) => {
    const { fun, retcode, success, ...rest } = Object.fromEntries(unpackMap(body));
    return { fun, retcode, success, returned: rest['return'] };
  };
  const returns = master.events.filter(({ kind }) => kind === 'ret').map(content);
  for (const one of returns) expect(one).toEqual(returns[0]);
});

it.each([
  ['a syndic below no master of masters', { orderMasters: false }, 'syn', 'syn'],
  ['a minion that may not be a syndic', { orderMasters: true, syndics: ['s?'] }, 'syn', 'syn'],
  ['a syndic with the id of another', { orderMasters: true }, 'other', 'syn'],
  ['a syndic without an accepted key', { orderMasters: true }, undefined, 'stranger'],
])('CVE-2024-22231: nothing is taken from %s', async (_what, rules, sender, id) => {
  const master = above(rules);
  await takeSyndicReturn(
    master.ports,
    request,
    buildSyndicReturn(id, [returned(id, ['x'])]),
    sender,
  );
  expect(master.events).toEqual([]);
  expect(master.counts.get('syndic_return_refused')).toBe(1);
});

it('CVE-2024-22231: an id that is none is left out, the others are taken', async () => {
  const master = above();
  const load = buildSyndicReturn('syn', [returned('syn', ['../x', 'y'])]);
  await takeSyndicReturn(master.ports, request, load, 'syn');
  expect(tagsOf(master)).toEqual([`salt/job/${JID}/ret/y`]);
});

it('a return that the stream does not take rejects the request: it comes again', async () => {
  const master = above();
  const append: MemoryMaster['ports']['events']['append'] = (event) =>
    event.minion === 'y' ? Promise.reject(new Error('away')) : master.ports.events.append(event);
  const ports = { ...master.ports, events: { append } };
  const load = buildSyndicReturn('syn', [returned('syn', ['x', 'y'])]);
  await expect(takeSyndicReturn(ports, request, load, 'syn')).rejects.toThrow('away');
  await takeSyndicReturn(master.ports, request, load, 'syn');
  // Twice an event, and one row.
  expect(tagsOf(master)).toEqual(['x', 'x', 'y'].map((id) => `salt/job/${JID}/ret/${id}`));
});

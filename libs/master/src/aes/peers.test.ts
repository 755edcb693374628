import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { minionPub, minionPublish, publishedReturns } from './peers.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const REQUEST = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };
const RETURNS = mapOf({
  web1: mapOf({ return: true, retcode: 0, out: 'nested' }),
  web2: mapOf({ return: 'x' }),
  // No job was published to it.
  db1: mapOf({ return: 'forged' }),
});

function masterWith(rules: Partial<MasterRules>, principal = 'minion/web1'): MemoryMaster {
  const master = memoryMaster({
    masterKey: PrivateKey.parse(auth.master_key.pem),
    rules,
    answerQuery: (query) =>
      query === 'job'
        ? mapOf({ principal, minions: ['web1', 'web2'] })
        : mapOf({ returns: RETURNS }),
  });
  for (const [id, os] of Object.entries({ web1: 'Debian', web2: 'Debian', db1: 'Arch' })) {
    master.setKey(id, { state: 'accepted', pub: '', denied: [] });
    master.grains.set(id, mapOf({ os }));
  }
  return master;
}

const load = (fields: Readonly<Record<string, SaltValue>>): SaltMap =>
  mapOf({ fun: 'test.ping', arg: [], tgt: 'web*', ret: '', ...fields });

async function pub(
  rules: Partial<MasterRules>,
  fields: Readonly<Record<string, SaltValue>> = {},
  minion = 'web1',
) {
  const master = masterWith(rules);
  const answer = await minionPub(master.ports, REQUEST, minion, load(fields));
  return { answer, job: master.jobs[0] };
}

test('a minion publishes what peer allows, and is the principal of the job', async () => {
  const { answer, job } = await pub({ peer: { 'web.*': ['test\\..*'] } }, { arg: ['a=1', 'b'] });
  expect(answer).toEqual(mapOf({ jid: job!.jid, minions: ['web1', 'web2'] }));
  expect(job!.principal).toBe('minion/web1');
  const published = unpackMap(Buffer.from(job!.publication));
  expect(published.get('fun')).toBe('test.ping');
  expect(published.get('arg')).toEqual(['a=1', 'b']);
  expect(published.get('user')).toBe('root');
  expect(unpackMap(Buffer.from(job!.load)).get('id')).toBe('web1');
});

const PEER: Partial<MasterRules> = {
  peer: {
    web1: ['test.ping', mapOf({ web2: ['cmd.run'] }), mapOf({ 'G@os:Arch': ['disk.*'] })],
  },
  nodegroups: { archs: 'G@os:Arch' },
};

test.each([
  [{}, 'web1', 2],
  [{}, 'db1', 0],
  [{ fun: 'test.pong' }, 'web1', 0],
  [{ fun: 'cmd.run', tgt: 'web2' }, 'web1', 1],
  [{ fun: 'cmd.run' }, 'web1', 0],
  [{ fun: 'disk.usage', tgt: 'archs', tgt_type: 'nodegroup' }, 'web1', 1],
  [{ fun: 'disk.usage', tgt: 'nope', tgt_type: 'nodegroup' }, 'web1', 0],
  [{ fun: 'test.ping,test.ping', arg: ['', ''] }, 'web1', 2],
  [{ fun: 'test.ping,cmd.run', arg: ['', 'ls'] }, 'web1', 0],
  [{ fun: 'publish.publish' }, 'web1', 0],
  [{ fun: 'test.ping,publish.publish', arg: ['', ''] }, 'web1', 0],
  [{ tgt: 'nobody' }, 'web1', 0],
  [{ arg: 'x' }, 'web1', 0],
  [{ fun: 7 }, 'web1', 0],
])('%o of %s reaches %i minions', async (fields, minion, count) => {
  const { answer, job } = await pub(PEER, fields, minion);
  expect(job?.minions.length ?? 0).toBe(count);
  expect(answer instanceof Map && answer.has('jid')).toBe(count > 0);
});

test.each([
  ['N@archs', 'G@os:Arch'],
  ['N@archs or N@webs', 'G@os:Arch or L@web1,web2'],
  [['N@both', 'and', 'db*'], 'G@os:Arch or web1 and db*'],
  ['N@nested and db*', '( ( G@os:Arch or web1 ) ) and db*'],
  ['db*', 'db*'],
])('minions need not know the nodegroups of %j', async (tgt, sent) => {
  const rules = {
    peer: { web1: ['test.ping'] },
    nodegroups: {
      archs: 'G@os:Arch',
      webs: ['web1', 'web2'],
      both: 'G@os:Arch or web1',
      nested: ['N@both'],
    },
  };
  const { job } = await pub(rules, { tgt, tgt_type: 'compound' });
  const published = unpackMap(Buffer.from(job!.publication));
  expect([published.get('tgt'), published.get('tgt_type')]).toEqual([sent, 'compound']);
  expect(job!.minions).toContain('db1');
});

test.each([
  ['a group that is not there', { tgt: 'N@nope or web1' }, ['test.ping']],
  ['a group that is not there, in a target that means minions', { tgt: 'web1 N@nope' }, ['test.*']],
  ['a group with minions beyond the rights', { tgt: 'N@archs' }, [mapOf({ 'web*': ['test.*'] })]],
  ['a group that asks about pillars', { tgt: 'N@secret or web1' }, ['test.ping']],
])('a nodegroup gives no right: %s', async (_name, fields, rights) => {
  const nodegroups = { archs: 'G@os:Arch', secret: 'I@password:x*' };
  const rules = { peer: { web1: rights }, nodegroups };
  const { answer, job } = await pub(rules, { ...fields, tgt_type: 'compound' });
  expect([answer, job]).toEqual([new Map(), undefined]);
});

test('without peer nothing is published', async () => {
  expect((await pub({})).answer).toEqual(new Map());
});

test('returns are for the minion that published', async () => {
  const { ports } = masterWith({});
  const jid = '20261122080000000000';
  const want = mapOf({ web1: mapOf({ ret: true, out: 'nested' }), web2: mapOf({ ret: 'x' }) });
  expect(await publishedReturns(ports, REQUEST, 'web1', mapOf({ jid }))).toEqual(want);
  expect(await publishedReturns(ports, REQUEST, 'web2', mapOf({ jid }))).toEqual(new Map());
  const root = masterWith({}, 'root').ports;
  expect(await publishedReturns(root, REQUEST, 'web1', mapOf({ jid }))).toEqual(new Map());
});

test.each(['../../etc/passwd', '/dev/zero', '1', '', 7, null])(
  'CVE-2025-22242: %j is no job id, and nothing is asked for it',
  async (jid) => {
    // A master that would answer, had it been asked.
    const { ports } = masterWith({});
    expect(await publishedReturns(ports, REQUEST, 'web1', mapOf({ jid }))).toEqual(new Map());
  },
);

test('a blocking publish answers with the returns, whole or bare', async () => {
  const { ports } = masterWith(PEER);
  expect(await minionPublish(ports, REQUEST, 'web1', load({}))).toEqual(
    mapOf({ web1: true, web2: 'x' }),
  );
  const full = await minionPublish(ports, REQUEST, 'web1', load({ form: 'full', timeout: '1' }));
  expect(full instanceof Map && full.get('web2')).toEqual(mapOf({ ret: 'x' }));
  expect(await minionPublish(ports, REQUEST, 'db1', load({}))).toEqual(new Map());
});

test.each([
  ['without any', []],
  ['without one for the function', ['disk.*', mapOf({ '*': ['cmd.run'] })]],
])('rights come before the work of a target: %s no minion is looked at', async (_name, rights) => {
  const { ports, jobs } = masterWith({ peer: { web1: rights } });
  let looks = 0;
  const accepted = () => {
    looks += 1;
    return ports.keys.accepted();
  };
  const watched = { ...ports, keys: { ...ports.keys, accepted } };
  const asked = load({ tgt: 'E@(a+)+$', tgt_type: 'compound' });
  expect(await minionPub(watched, REQUEST, 'web1', asked)).toEqual(new Map());
  expect([looks, jobs.length]).toEqual([0, 0]);
});

test.each([
  ['words', Array.from({ length: 1_001 }, () => 'web1').join(' or ')],
  ['listed words', Array.from({ length: 1_001 }, () => 'web1')],
  ['groups', Array.from({ length: 51 }, () => 'N@archs').join(' or ')],
  ['characters', `L@web1,${'x'.repeat(1_048_576)}`],
])('a target of too many %s is refused', async (_name, tgt) => {
  const { answer, job } = await pub(PEER, { tgt, tgt_type: 'compound' });
  expect([answer, job]).toEqual([new Map(), undefined]);
});

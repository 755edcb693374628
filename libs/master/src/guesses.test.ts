import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { getFromMine, putIntoMine } from './aes/mine.ts';
import { minionPub } from './aes/peers.ts';
import { publish } from './clear/publish.ts';
import type { MasterRules } from './ports/ports.ts';

/*
 * Guessing at pillars by targets: `web1` and limited users try to learn what `db1` keeps.
 */

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const REQUEST = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };
const ROOT_KEY = 'k'.repeat(76);
const PILLARS: Readonly<Record<string, SaltMap>> = {
  web1: mapOf({ role: 'web' }),
  web2: mapOf({ role: 'web' }),
  db1: mapOf({ role: 'db', secret: 'hunter2', keys: mapOf({ api: 'x' }) }),
};

function masterWith(rules: Partial<MasterRules>) {
  const master = memoryMaster({
    masterKey,
    rules: {
      ...rules,
      nodegroups: { right: 'I@secret:hunter*', wrong: 'I@secret:other*' },
      access: {
        externalAuth: {
          file: {
            all: ['test.*'],
            webs: [mapOf({ 'web*': ['test.*'] })],
            roles: [mapOf({ 'I@role:w*': ['test.*'] })],
          },
        },
        publisherAcl: {},
        sudoAcl: false,
        keepAclInToken: false,
        permissiveAcl: false,
        tokenExpire: 60,
        tokenExpireUserOverride: false,
        hashType: 'sha256',
      },
    },
    userKeys: { root: ROOT_KEY },
    passwords: { all: 'p', webs: 'p', roles: 'p' },
  });
  for (const id of Object.keys(PILLARS)) {
    master.setKey(id, { state: 'accepted', pub: '', denied: [] });
    master.grains.set(id, mapOf({ os: 'Debian' }));
  }
  const read: string[] = [];
  const pillars = {
    render: () => Promise.resolve(new Map()),
    ready: () => Promise.resolve(),
    kept: async () => undefined,
    of: (id: string) => {
      read.push(id);
      return PILLARS[id];
    },
  };
  return { master, read, ports: { ...master.ports, pillars } };
}

type Asked = readonly [tgt: SaltValue, tgtType: string];

/** An answer, whether anything was published, and how many pillars were looked at. */
interface Outcome {
  readonly answer: SaltValue;
  readonly jobs: number;
  readonly read: number;
}

async function mineGet([tgt, tgt_type]: Asked): Promise<Outcome> {
  const { ports, read } = masterWith({});
  await putIntoMine(ports, 'db1', mapOf({ data: mapOf({ 'test.ping': true }) }));
  const answer = await getFromMine(ports, 'web1', mapOf({ fun: 'test.ping', tgt, tgt_type }));
  return { answer, jobs: 0, read: read.length };
}

async function pub([tgt, tgt_type]: Asked, rights: SaltValue[]): Promise<Outcome> {
  const { ports, master, read } = masterWith({ peer: { web1: rights } });
  const load = mapOf({ fun: 'test.ping', arg: [], ret: '', tgt, tgt_type });
  const answer = await minionPub(ports, REQUEST, 'web1', load);
  return { answer: without(answer, 'jid'), jobs: master.jobs.length, read: read.length };
}

async function byUser(
  [tgt, tgt_type]: Asked,
  username: string,
  fun = 'test.ping',
): Promise<Outcome> {
  const { ports, master, read } = masterWith({});
  const kwargs = mapOf({ eauth: 'file', username, password: 'p' });
  const load = mapOf({ cmd: 'publish', fun, arg: [], ret: '', jid: '', tgt, tgt_type, kwargs });
  const { value } = await publish(ports, REQUEST, load);
  const answer = mapIn(value, 'error') ?? without(mapIn(value, 'load') ?? value, 'jid');
  return { answer, jobs: master.jobs.length, read: read.length };
}

function without(value: SaltValue, name: string): SaltValue {
  return isMap(value) ? new Map([...value].filter(([key]) => key !== name)) : value;
}

/** A right guess and a wrong one, in every form that names more than one value. */
const PAIRS: readonly (readonly [Asked, Asked])[] = [
  [
    ['secret:h*', 'pillar'],
    ['secret:x*', 'pillar'],
  ],
  [
    ['secret:hunter?', 'Pillar'],
    ['secret:xunter?', 'Pillar'],
  ],
  [
    ['secret:[g-h]*', 'pillar_exact'],
    ['secret:[x-y]*', 'pillar_exact'],
  ],
  [
    ['secret:hunter2', 'pillar_pcre'],
    ['secret:hunter3', 'pillar_pcre'],
  ],
  [
    ['secret:^h', 'PILLAR_PCRE'],
    ['secret:^x', 'PILLAR_PCRE'],
  ],
  [
    ['keys:*', 'pillar'],
    ['nope:*', 'pillar'],
  ],
  [
    ['*:hunter2', 'pillar'],
    ['*:hunter3', 'pillar'],
  ],
  [
    ['I@secret:h*', 'compound'],
    ['I@secret:x*', 'compound'],
  ],
  [
    ['not J@secret:h.*', 'compound'],
    ['not J@secret:x.*', 'compound'],
  ],
  [
    ['web1 or J@secret:h.*', 'compound'],
    ['web1 or J@secret:x.*', 'compound'],
  ],
  [
    ['* and ( not ( J|@secret|h.* ) )', 'compound'],
    ['* and ( not ( J|@secret|x.* ) )', 'compound'],
  ],
  [
    ['( ( not ( not I@secret:h* ) ) )', 'compound'],
    ['( ( not ( not I@secret:x* ) ) )', 'compound'],
  ],
  [
    [['not', 'J@secret:h.*'], 'compound'],
    [['not', 'J@secret:x.*'], 'compound'],
  ],
  [
    ['not J@secret:h.*', 'compound_pillar_exact'],
    ['not J@secret:x.*', 'compound_pillar_exact'],
  ],
  [
    ['not I@secret:h*', 'COMPOUND'],
    ['not I@secret:x*', 'COMPOUND'],
  ],
  [
    ['not N@right', 'compound'],
    ['not N@wrong', 'compound'],
  ],
  [
    ['right', 'nodegroup'],
    ['wrong', 'nodegroup'],
  ],
];

describe.each(PAIRS)('%j and %j are answered alike', (right, wrong) => {
  test('to a minion that asks for the mine', async () => {
    const outcome = await mineGet(right);
    expect(await mineGet(wrong)).toEqual(outcome);
    expect(outcome).toEqual({ answer: new Map(), jobs: 0, read: 0 });
  });

  test('to a minion that publishes, whatever its rights', async () => {
    for (const rights of [['test.*'], [mapOf({ 'web*': ['test.*'] })], ['disk.*']]) {
      const outcome = await pub(right, rights);
      expect(await pub(wrong, rights)).toEqual(outcome);
      expect(outcome).toEqual({ answer: new Map(), jobs: 0, read: 0 });
    }
  });

  test('to a user, whatever its rights and whatever it runs', async () => {
    for (const user of ['all', 'webs', 'roles']) {
      for (const fun of ['test.ping', 'saltutil.find_job']) {
        const outcome = await byUser(right, user, fun);
        expect(await byUser(wrong, user, fun)).toEqual(outcome);
        expect(outcome).toMatchObject({ jobs: 0, read: 0 });
        expect(isMap(outcome.answer) && outcome.answer.get('name')).toBe('AuthorizationError');
      }
    }
  });
});

/** Exact guesses at minions that the asker has no right to. */
test.each([
  [
    ['secret:hunter2', 'pillar'],
    ['secret:hunter3', 'pillar'],
  ],
  [
    ['I@secret:hunter2', 'compound'],
    ['I@secret:hunter3', 'compound'],
  ],
  [
    ['web1 or I@secret:hunter2', 'compound'],
    ['web1 or I@secret:hunter3', 'compound'],
  ],
  [
    ['not I@secret:hunter2', 'compound'],
    ['not I@secret:hunter3', 'compound'],
  ],
  [
    ['db1 and I@secret:hunter2', 'compound'],
    ['db1 and I@secret:hunter3', 'compound'],
  ],
] satisfies [Asked, Asked][])(
  'exact guesses %j and %j at minions of others are answered alike, without a look',
  async (right, wrong) => {
    const limited = [mapOf({ 'web*': ['test.*'] })];
    for (const fun of ['test.ping', 'saltutil.find_job']) {
      const outcome = await byUser(right, 'webs', fun);
      expect(await byUser(wrong, 'webs', fun)).toEqual(outcome);
      expect(outcome.read).toBe(0);
      expect(isMap(outcome.answer) && outcome.answer.get('name')).toBe('AuthorizationError');
    }
    expect(await pub(right, limited)).toEqual(await pub(wrong, limited));
    expect(await pub(right, limited)).toEqual({ answer: new Map(), jobs: 0, read: 0 });
  },
);

const minionsOf = ({ answer }: Outcome): SaltValue[] | undefined =>
  isMap(answer) ? listOf(answer, 'minions') : undefined;

describe('a target that names exact values finds its minions', () => {
  test('by a minion in the mine, and by one that may publish there', async () => {
    const tgt: Asked = ['role:db', 'pillar'];
    expect((await mineGet(tgt)).answer).toEqual(mapOf({ db1: true }));
    expect((await mineGet(['I@role:DB and not web*', 'compound'])).answer).toEqual(
      mapOf({ db1: true }),
    );
    expect(minionsOf(await pub(tgt, ['test.*']))).toEqual(['db1']);
    const within: Asked = ['web* and I@role:web', 'compound'];
    expect(minionsOf(await pub(within, [mapOf({ 'web*': ['test.*'] })]))).toEqual(['web1', 'web2']);
  });

  test('by a user that may run the job, and in the words of its rights', async () => {
    expect(minionsOf(await byUser(['secret:hunter2', 'pillar'], 'all'))).toEqual(['db1']);
    const within: Asked = ['web* and not I@role:db', 'compound'];
    expect(minionsOf(await byUser(within, 'webs'))).toEqual(['web1', 'web2']);
    expect(minionsOf(await byUser(['role:w*', 'pillar'], 'roles'))).toEqual(['web1', 'web2']);
    expect(minionsOf(await byUser(['I@role:w* and web1', 'compound'], 'roles'))).toEqual(['web1']);
  });

  test('the own user of the master may use any term', async () => {
    const { ports, master } = masterWith({});
    const load = mapOf({ cmd: 'publish', fun: 'test.ping', arg: [], ret: '', jid: '' });
    load.set('tgt', 'not J@secret:h.*').set('tgt_type', 'compound');
    load.set('key', ROOT_KEY).set('user', 'root');
    await publish(ports, REQUEST, load);
    expect(master.jobs[0]?.minions).toEqual(['web1', 'web2']);
    // A master above hands down the rights of its user in this list.
    load.set('kwargs', mapOf({ auth_list: ['.*'] }));
    await publish(ports, REQUEST, load);
    expect(master.jobs).toHaveLength(1);
  });
});

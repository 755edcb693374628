import { minionToken } from '@brine/crypt';
import { newNonce, type TestPeer } from '@brine/testing/peers';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { type Cast, type Frame, sealed, type Sealing, wrongTypes } from './frames.ts';

const JID = '20261122080000123456';
const FILE = { path: 'no/such/file', saltenv: 'base' };

/** Valid fields of each command of protocol.md section 5. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, SaltValue>>>> = {
  verify_minion: {},
  _master_tops: { opts: mapOf({ id: 'a' }) },
  _master_opts: { env_only: true },
  _mine_get: { tgt: '*', fun: 'network.ip_addrs', tgt_type: 'glob' },
  _mine: { data: mapOf({ 'test.ping': true }) },
  _mine_delete: { fun: 'test.ping' },
  _mine_flush: {},
  _file_recv: { path: ['x', 'y'], loc: 0, data: 'abc', size: 3 },
  _pillar: {
    grains: mapOf({ id: 'a', os: 'Debian' }),
    saltenv: null,
    pillarenv: null,
    pillar_override: mapOf({}),
    extra_minion_data: mapOf({}),
    ver: '2',
  },
  _minion_event: { tag: 'my/tag', data: mapOf({ x: 1 }), pretag: null },
  _return: { jid: JID, fun: 'test.ping', fun_args: [], return: true, retcode: 0, success: true },
  _syndic_return: { load: [] },
  minion_runner: { fun: 'test.arg', arg: [] },
  pub_ret: { jid: JID },
  minion_pub: { fun: 'test.ping', arg: [], tgt: 'a', ret: '', tgt_type: 'glob' },
  minion_publish: { fun: 'test.ping', arg: [], tgt: 'a', ret: '', tmo: 1, tgt_type: 'glob' },
  _serve_file: { ...FILE, loc: 0 },
  _file_find: FILE,
  _file_hash: FILE,
  _file_hash_and_stat: FILE,
  _file_list: { saltenv: 'base', prefix: '' },
  _file_list_emptydirs: { saltenv: 'base', prefix: '' },
  _dir_list: { saltenv: 'base', prefix: '' },
  _symlink_list: { saltenv: 'base', prefix: '' },
  _file_envs: {},
  _register_resources: { resources: mapOf({}), resource_grains: mapOf({}) },
  // Not in the list of commands for minions.
  __init__: {},
  run_func: {},
  destroy: {},
  _prep_auth_info: {},
  publish: { fun: 'test.ping', arg: [], tgt: 'a', ret: '', jid: '', tgt_type: 'glob' },
  no_such_command: {},
};

type Change = (load: SaltMap, how: Sealing, cast: Cast) => Partial<Sealing> | undefined;

const set = (name: string, value: SaltValue | ((cast: Cast) => SaltValue)): Change => {
  return (load, _how, cast) => {
    load.set(name, typeof value === 'function' ? value(cast) : value);
    return undefined;
  };
};
const without = (name: string): Change => {
  return (load) => {
    load.delete(name);
    return undefined;
  };
};

/** Changes to each command, by their names in the table. */
const VARIANTS: Readonly<Record<string, Change>> = {
  good: () => undefined,
  'no token': without('tok'),
  'wrong token': set('tok', Buffer.alloc(256, 7)),
  'token of another minion': set('tok', ({ b }) => minionToken(b.key)),
  'version 2': (_load, _how, { a }) => ({ version: 2, sealedWith: a.aes }),
  'version 1': (_load, _how, { a }) => ({ version: 1, sealedWith: a.aes }),
  'sealed with the key of all': (_load, _how, { a }) => ({ sealedWith: a.aes }),
  "sealed with another minion's key": (_load, _how, { b }) => ({ sealedWith: b.session }),
  'outer id of another minion': (_load, _how, { b }) => ({ outerId: b.id }),
  'inner id of another minion': set('id', ({ b }) => b.id),
  'all of another minion but the token': (load, _how, { b }) => {
    load.set('id', b.id);
    return { outerId: b.id };
  },
  'outer id is no id': () => ({ outerId: '../a' }),
  'outer id of a wrong type': () => ({ outerId: ['a'] }),
  'inner id with a NUL': set('id', 'a\0'),
  'inner id of a wrong type': set('id', ['a']),
  'no nonce': without('nonce'),
  'nonce of a wrong type': set('nonce', 7),
  'fields of wrong types': (load) => {
    const kept = ['cmd', 'id', 'tok', 'ts', 'nonce'];
    for (const [name, value] of wrongTypes(load)) {
      if (typeof name === 'string' && !kept.includes(name)) load.set(name, value);
    }
    return undefined;
  },
};

/** Every sealed command in every variant; `replay` sends the valid one twice. */
export function aesFrames(): Frame[] {
  const frames: Frame[] = [];
  for (const cmd of Object.keys(FIELDS)) {
    for (const [variant, change] of Object.entries(VARIANTS)) {
      frames.push({
        name: `aes ${cmd}: ${variant}`,
        make: (cast) => made(cast, cast.a, cmd, change),
      });
    }
    frames.push({
      name: `aes ${cmd}: replay`,
      twice: true,
      make: (cast) => made(cast, cast.a, cmd),
    });
  }
  return frames;
}

/** Frames that each break a worker of 3008.2, which then answers no more. Sent last. */
export function deadlyFrames(): Frame[] {
  const change = set('tok', ['x']);
  return [
    {
      name: 'deadly: token of a wrong type',
      make: (cast) => made(cast, cast.a, '_return', change),
    },
  ];
}

/** The command that ends its sender's rights, sent last by a separate minion. */
export function leavingFrames(): Frame[] {
  const make = (change?: Change) => (cast: Cast) => made(cast, cast.leaver, 'revoke_auth', change);
  const spared = ['good', 'version 2', 'version 1'];
  const refused = Object.entries(VARIANTS).filter(([variant]) => !spared.includes(variant));
  return [
    ...refused.map(([variant, change]) => ({
      name: `aes revoke_auth: ${variant}`,
      make: make(change),
    })),
    { name: 'aes revoke_auth: good', make: make() },
    { name: 'aes revoke_auth: again, when the key is gone', make: make() },
  ];
}

/** The load of a request as a minion sends it, with some fields changed. */
export function sealedLoad(
  sender: Pick<TestPeer, 'id' | 'key'>,
  cmd: string,
  fields: Readonly<Record<string, SaltValue>> = FIELDS[cmd] ?? {},
): SaltMap {
  return mapOf({
    cmd,
    id: sender.id,
    tok: minionToken(sender.key),
    ts: Math.floor(Date.now() / 1000),
    nonce: newNonce(),
    ...fields,
  });
}

function made(
  cast: Cast,
  sender: TestPeer,
  cmd: string,
  change?: Change,
): ReturnType<typeof sealed> {
  const load = sealedLoad(sender, cmd);
  const how: Sealing = { sealedWith: sender.session, version: 3, outerId: sender.id };
  return sealed(load, { ...how, ...change?.(load, how, cast) });
}

import { authLoad, newNonce } from '@brine/testing/peers';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { type Cast, clear, type Frame, type Sent, wrongTypes } from './frames.ts';

/** Fields of each command of protocol.md section 6, beside a key. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, SaltValue>>>> = {
  ping: {},
  publish: {
    fun: 'test.ping',
    arg: [],
    tgt: 'a',
    tgt_type: 'glob',
    ret: '',
    jid: '',
    user: 'root',
    kwargs: mapOf({ show_timeout: true }),
  },
  runner: { fun: 'test.no_such_function', arg: [], kwarg: mapOf({}), user: 'root' },
  wheel: { fun: 'test.no_such_function', arg: [], kwarg: mapOf({}), user: 'root' },
  mk_token: { eauth: 'pam', username: 'nobody', password: 'x' },
  get_token: { token: 'ab'.repeat(32) },
  // Not on the list of public methods (CVE-2020-11651).
  _prep_auth_info: {},
  _send_pub: {},
  publish_payload: {},
  __init__: {},
  destroy: {},
  connect: {},
  no_such_command: {},
};

type Change = (load: SaltMap, cast: Cast) => { readonly version?: SaltValue } | undefined;

const set = (fields: Readonly<Record<string, SaltValue>>): Change => {
  return (load) => {
    load.delete('key');
    for (const [name, value] of Object.entries(fields)) load.set(name, value);
    return undefined;
  };
};

const VARIANTS: Readonly<Record<string, Change>> = {
  good: () => undefined,
  'no key': set({}),
  'wrong key': set({ key: 'A'.repeat(76) }),
  'empty key': set({ key: '' }),
  'key nil': set({ key: null }),
  'key a map': set({ key: mapOf({ a: 1 }) }),
  'key a list': set({ key: ['x'] }),
  'key a number': set({ key: 0 }),
  'key of root, user unknown to it': (load) => {
    load.set('user', 'nobody-at-all');
    return undefined;
  },
  'wrong key, user of a wrong type': set({ key: 'x', user: ['root'] }),
  'wrong token': set({ token: 'cd'.repeat(32) }),
  'token a path': set({ token: '../../../../etc/passwd' }),
  'token of a wrong type': set({ token: mapOf({ a: 1 }) }),
  'wrong eauth': set({ eauth: 'pam', username: 'nobody', password: 'x' }),
  'eauth of a wrong type': set({ eauth: ['pam'], username: 'nobody', password: 'x' }),
  'wrong token among kwargs': set({ kwargs: mapOf({ token: 'cd'.repeat(32) }) }),
  'wrong eauth among kwargs': set({
    kwargs: mapOf({ eauth: 'pam', username: 'nobody', password: 'x' }),
  }),
  'version 2': () => ({ version: 2 }),
  'version 0': () => ({ version: 0 }),
  'version of a wrong type': () => ({ version: 'x' }),
  'id with a NUL': (load) => {
    load.set('id', 'a\0');
    return undefined;
  },
  'id of a wrong type': (load) => {
    load.set('id', mapOf({ a: 1 }));
    return undefined;
  },
  'fields of wrong types, no key': (load) => {
    load.delete('key');
    for (const [name, value] of wrongTypes(load)) if (name !== 'cmd') load.set(name, value);
    return undefined;
  },
};

/** Every clear command in every variant. */
export function clearFrames(): Frame[] {
  const frames: Frame[] = [];
  for (const cmd of Object.keys(FIELDS)) {
    const make = (change?: Change) => (cast: Cast) => {
      const load = mapOf({ ...FIELDS[cmd], cmd, key: cast.rootKey });
      return clear(load, change?.(load, cast)?.version ?? 3);
    };
    for (const [variant, change] of Object.entries(VARIANTS)) {
      frames.push({ name: `clear ${cmd}: ${variant}`, make: make(change) });
    }
    frames.push({ name: `clear ${cmd}: replay`, twice: true, make: make() });
  }
  return [...frames, ...logins(), ...odd()];
}

function logins(): Frame[] {
  const auth = (change: Readonly<Record<string, SaltValue>>, version: SaltValue = 3) => {
    return ({ a }: Cast): Sent => clear(new Map([...authLoad(a), ...mapOf(change)]), version);
  };
  const own = (name: string, make: Frame['make']): Frame => ({
    name: `clear _auth: ${name}`,
    make,
  });
  const strange = (id: SaltValue): Frame['make'] => {
    return ({ b, a }) => clear(new Map([...authLoad({ id: 'x', key: b.key }), ['id', id]]), a && 3);
  };
  return [
    own('good', auth({})),
    { ...own('replay', auth({})), twice: true },
    own('version 2', auth({}, 2)),
    own('version 0', auth({}, 0)),
    own('no nonce', ({ a }) => {
      const load = authLoad(a);
      load.delete('nonce');
      return clear(load);
    }),
    own('nonce of a wrong type', auth({ nonce: 7 })),
    own('pub of a wrong type', auth({ pub: 7 })),
    own('pub no key', auth({ id: 'stranger1', pub: 'no key at all' })),
    own('id with a slash', strange('../../x')),
    own('id with a NUL', strange('x\0')),
    own('id empty', strange('')),
    own('id of a wrong type', strange(['x'])),
    own('unknown id', strange('stranger2')),
    own('another key under an accepted id', ({ a, b }) => {
      return clear(authLoad({ id: a.id, key: b.key }));
    }),
    own('unknown signature algorithm', auth({ sig_algo: 'MD5' })),
    own('unknown encryption algorithm', auth({ enc_algo: 'ROT13' })),
    own('token that is none', auth({ token: Buffer.alloc(256, 3) })),
    own('sealed', ({ a }) => {
      const load = a.session.seal(pack(authLoad(a)));
      const body = pack(mapOf({ enc: 'aes', load, version: 3, id: a.id }));
      return { body, keys: [a.session], nonce: newNonce() };
    }),
  ];
}

function odd(): Frame[] {
  const bytes = (name: string, body: Buffer): Frame => ({
    name: `odd: ${name}`,
    make: ({ a }) => ({ body, keys: [a.session, a.aes], nonce: undefined }),
  });
  return [
    bytes('a text', pack('x')),
    bytes('a list', pack(['x'])),
    bytes('a map without enc', pack(mapOf({ load: mapOf({}) }))),
    bytes('a map without load', pack(mapOf({ enc: 'clear' }))),
    bytes('an unknown enc', pack(mapOf({ enc: 'rot13', load: mapOf({}), version: 3 }))),
    bytes('enc of a wrong type', pack(mapOf({ enc: [1], load: mapOf({}), version: 3 }))),
    bytes('a clear load that is a text', pack(mapOf({ enc: 'clear', load: 'x', version: 3 }))),
    bytes('a clear load that is nil', pack(mapOf({ enc: 'clear', load: null, version: 3 }))),
    bytes(
      'noise as sealed',
      pack(mapOf({ enc: 'aes', load: Buffer.alloc(96, 5), version: 3, id: 'a' })),
    ),
    bytes(
      'sealed, without an id',
      pack(mapOf({ enc: 'aes', load: Buffer.alloc(96, 5), version: 3 })),
    ),
    bytes(
      'cmd of a wrong type',
      pack(mapOf({ enc: 'clear', load: mapOf({ cmd: ['x'] }), version: 3 })),
    ),
    bytes('no cmd', pack(mapOf({ enc: 'clear', load: mapOf({}), version: 3 }))),
  ];
}

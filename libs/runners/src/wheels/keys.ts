import { fingerprint, PrivateKey } from '@brine/crypt';
import {
  changeKeys,
  installKey,
  type KeyAct,
  listKeys,
  matchKeys,
  textsOfKeys,
} from '@brine/master/functions';
import { isName, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyRepr, pyStr } from '@brine/wire/text';
import type { RunnerMaster, WheelFunction } from '../function.ts';
import { refusal, textGiven } from '../given-values.ts';

const MATCH = [['match']] as const;
const HASHED = [['match'], ['hash_type', null]] as const;

/** `accept`, `reject`, `delete` by a glob, and their variants that take ids by section. */
function acting(act: KeyAct, also: readonly string[], doc: string): readonly WheelFunction[] {
  const options = also.map((name) => [name, false] as const);
  const parameters = [['match'] as const, ...options];
  const run: WheelFunction['run'] = ({ named }, master) => {
    const { user, principal } = master.call;
    const included = also.filter((name) => named.get(name) === true);
    return changeKeys(master, { act, user, principal }, named.get('match') ?? '', included);
  };
  return [
    { name: `key.${act}`, parameters, doc, run },
    { name: `key.${act}_dict`, parameters, doc: `${doc} Takes ids by section.`, run },
  ];
}

const SECTION_BY_WORD = [
  ['acc', 'minions'],
  ['pre', 'minions_pre'],
  ['un', 'minions_pre'],
  ['rej', 'minions_rejected'],
  ['den', 'minions_denied'],
] as const;

const listAll: WheelFunction = {
  name: 'key.list_all',
  parameters: [],
  doc: 'Lists all keys by section.',
  run: (_given, master) => allKeys(master),
};

/** The name of the master's own key files in 3008: its minion id without `_master`. */
function ownName({ rules }: RunnerMaster): string {
  return rules.masterMinionId.replace(/_master$/, '');
}

function allKeys(master: RunnerMaster): SaltMap {
  const name = ownName(master);
  return listKeys(master).set('local', [`${name}.pem`, `${name}.pub`]);
}

const list: WheelFunction = {
  name: 'key.list',
  parameters: MATCH,
  doc: 'Lists the keys of one section: acc, pre, un, rej or den; or all.',
  run({ named }, master) {
    const word = textIn(named, 'match');
    if (word.startsWith('all')) return allKeys(master);
    const section = SECTION_BY_WORD.find(([prefix]) => word.startsWith(prefix));
    return section === undefined
      ? mapOf({})
      : mapOf({ [section[1]]: listKeys(master).get(section[1]) });
  },
};

function matching(name: string): WheelFunction {
  return {
    name,
    parameters: MATCH,
    doc: 'Shows by section the ids that a glob, a list or a map of sections names.',
    run: ({ named }, master) => matchKeys(master, named.get('match') ?? ''),
  };
}

/** Salt's name is `print`; callers of its Python use `key_str`. */
function printing(name: string): WheelFunction {
  return {
    name,
    parameters: MATCH,
    doc: 'Shows the public keys of these ids.',
    run: ({ named }, master) => textsOfKeys(master, named.get('match') ?? '', (pem) => pem),
  };
}

const finger: WheelFunction = {
  name: 'key.finger',
  parameters: HASHED,
  doc: 'Shows the fingerprints of these ids.',
  run({ named }, master) {
    const hash = textIn(named, 'hash_type') || undefined;
    return textsOfKeys(master, named.get('match') ?? '', (pem) => fingerprint(pem, '3008', hash));
  },
};

const fingerMaster: WheelFunction = {
  name: 'key.finger_master',
  parameters: [['hash_type', null]],
  doc: "Shows the fingerprint of the master's key.",
  run({ named }, { masterKey }) {
    const hash = textIn(named, 'hash_type') || undefined;
    return local('master', fingerprint(masterKey.publicPem, '3008', hash));
  },
};

const masterKeyStr: WheelFunction = {
  name: 'key.master_key_str',
  parameters: [],
  doc: "Shows the master's public key.",
  run: (_given, master) => local(ownName(master), master.masterKey.publicPem),
};

/** Limits of key sizes; larger ones take minutes. */
const KEY_BITS = { least: 2048, most: 8192 };

const ABOUT_SIZE = 'keysize: bits, 2048 (default) to 8192.';

async function newPair(named: ReadonlyMap<string, SaltValue>, preset = KEY_BITS.least) {
  const given = named.get('keysize') ?? null;
  const bits = given === null ? preset : Number(pyStr(given));
  if (!Number.isInteger(bits) || bits > KEY_BITS.most) {
    throw new Error(`keys of ${pyStr(given)} bits are not made`);
  }
  // As in Salt, a smaller size is rounded up.
  const made = await PrivateKey.generate(Math.max(KEY_BITS.least, bits));
  return { priv: made.pem, pub: made.publicKey.pem };
}

const gen: WheelFunction = {
  name: 'key.gen',
  parameters: [
    ['id_', null],
    ['keysize', KEY_BITS.least],
  ],
  doc:
    'Makes a key pair and shows both halves; the master keeps neither. id_: unused. ' + ABOUT_SIZE,
  run: async ({ named }) => mapOf(await newPair(named)),
};

const genAccept: WheelFunction = {
  name: 'key.gen_accept',
  parameters: [['id_'], ['keysize', KEY_BITS.least], ['force', false]],
  doc:
    'Makes a key pair for a minion, accepts its public half, and shows both. The private half ' +
    `is kept nowhere. id_: the minion. ${ABOUT_SIZE} force: replace a key that is there; without ` +
    'it nothing is made then (default False).',
  async run({ named }, master) {
    const id = pyStr(named.get('id_') ?? '');
    if (id === '' || !isName('id', id) || /[/\\]|^\.\.?$/.test(id)) {
      throw new Error(`no id of a minion: ${pyRepr(id)}`);
    }
    const made = await newPair(named);
    const { user, principal } = master.call;
    const asked = { user, principal, force: isTruthy(named.get('force')) };
    return (await installKey(master, asked, id, made.pub)) ? mapOf(made) : mapOf({});
  },
};

const genKeys: WheelFunction = {
  name: 'key.gen_keys',
  parameters: [
    ['keydir', null],
    ['keyname', null],
    ['keysize', null],
    ['user', null],
  ],
  doc:
    'Writes a new key pair into pki_dir, on the host of the worker, and shows its fingerprint. ' +
    'keydir: pki_dir and no other. keyname: name of the files (default minion); they must not be ' +
    `there. ${ABOUT_SIZE} user: not served.`,
  async run({ named }, master) {
    const dir = pyStr(master.option('pki_dir') ?? '');
    if ((textGiven(named, 'keydir') ?? dir) !== dir) {
      throw refusal('key.gen_keys writes into pki_dir only; salt-key --gen-keys writes elsewhere.');
    }
    if (isTruthy(named.get('user'))) throw refusal('key.gen_keys: user is not served.');
    const name = textGiven(named, 'keyname') ?? 'minion';
    if (!/^[\w-][\w.-]{0,127}$/.test(name)) throw new Error(`no name of a key: ${pyRepr(name)}`);
    const { hostFiles } = master;
    for (const file of [`${name}.pem`, `${name}.pub`]) {
      if ((await hostFiles.readBelow(dir, file, { maxBytes: 1, headBytes: 1 })) === undefined) {
        continue;
      }
      throw new Error(`${dir}/${file} is there already`);
    }
    const bits = master.option('keysize');
    const made = await newPair(named, typeof bits === 'number' ? bits : undefined);
    await hostFiles.writeBelow(dir, `${name}.pem`, made.priv, { dir: 0o700, file: 0o400 });
    await hostFiles.writeBelow(dir, `${name}.pub`, made.pub, { dir: 0o700, file: 0o644 });
    return fingerprint(made.pub, '3008');
  },
};

/** `key.*` (salt/wheel/key.py). */
export const KEY_WHEEL: readonly WheelFunction[] = [
  listAll,
  list,
  matching('key.glob_match'),
  matching('key.name_match'),
  ...acting('accept', ['include_rejected', 'include_denied'], 'Accepts pending keys.'),
  ...acting('reject', ['include_accepted', 'include_denied'], 'Rejects pending keys.'),
  ...acting('delete', [], 'Deletes keys.'),
  printing('key.print'),
  printing('key.key_str'),
  finger,
  fingerMaster,
  masterKeyStr,
  gen,
  genAccept,
  genKeys,
];

function textIn(given: ReadonlyMap<string, SaltValue>, name: string): string {
  const value = given.get(name) ?? '';
  if (value === null) return '';
  return typeof value === 'string' ? value : pyRepr(value);
}

function local(name: string, text: string): SaltMap {
  return mapOf({ local: mapOf({ [`${name}.pub`]: text }) });
}

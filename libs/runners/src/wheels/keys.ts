import { fingerprint } from '@brine/crypt';
import { changeKeys, type KeyAct, listKeys, matchKeys, textsOfKeys } from '@brine/master';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import type { WheelFunction } from '../function.ts';

const MATCH = [['match']] as const;
const HASHED = [['match'], ['hash_type', null]] as const;

/** `accept`, `reject`, `delete` by a glob, and their forms that take ids by section. */
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
  run: (_given, master) => listKeys(master).set('local', ['master.pem', 'master.pub']),
};

const list: WheelFunction = {
  name: 'key.list',
  parameters: MATCH,
  doc: 'Lists the keys of one section: acc, pre, un, rej or den.',
  run({ named }, master) {
    const word = textIn(named, 'match');
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

const keyStr: WheelFunction = {
  name: 'key.key_str',
  parameters: MATCH,
  doc: 'Shows the public keys of these ids.',
  run: ({ named }, master) => textsOfKeys(master, named.get('match') ?? '', (pem) => pem),
};

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
    return local(fingerprint(masterKey.publicPem, '3008', hash));
  },
};

const masterKeyStr: WheelFunction = {
  name: 'key.master_key_str',
  parameters: [],
  doc: "Shows the master's public key.",
  run: (_given, { masterKey }) => local(masterKey.publicPem),
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
  keyStr,
  finger,
  fingerMaster,
  masterKeyStr,
];

function textIn(given: ReadonlyMap<string, SaltValue>, name: string): string {
  const value = given.get(name) ?? '';
  if (value === null) return '';
  return typeof value === 'string' ? value : pyRepr(value);
}

function local(text: string): SaltMap {
  return mapOf({ local: mapOf({ 'master.pub': text }) });
}

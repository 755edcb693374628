import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapIn, mapOf, pack, type SaltMap, scanMap, textOf, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { runAesCommand } from './aes/commands.ts';
import { answerAuth } from './clear/auth.ts';
import { changeKeys } from './clear/key-acts.ts';
import type { MasterRules } from './ports/ports.ts';

/** Events of a stock master 3008.2, as its event socket gave them. */
const recorded = vectorFile<{
  readonly pub_socket: Record<
    string,
    { readonly frames: readonly { readonly tag: string; readonly data: Record<string, unknown> }[] }
  >;
}>('events.json').pub_socket['3008.2']!.frames;

const auth = vectorFile<{
  readonly master_key: { readonly pem: string };
  readonly cases: readonly { readonly state: string; readonly request: string }[];
}>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'h' };

/** The names of what a stock master's events with this tag say, less the time. */
function stockShapes(tag: RegExp, act?: string): string[][] {
  const found = recorded.filter((one) => {
    return tag.test(one.tag) && (act === undefined || one.data['act'] === act);
  });
  return found.map(({ data }) => Object.keys(data).filter((name) => name !== '_stamp'));
}

function firedBy(master: MemoryMaster): { tag: string; data: SaltMap }[] {
  return master.events.map(({ tag, body }) => ({ tag, data: unpackMap(body) }));
}

function master(rules: Partial<MasterRules> = {}): MemoryMaster {
  const made = memoryMaster({ masterKey, rules });
  made.setKey('m1', { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
  made.setKey('new1', { state: 'pending', pub: masterKey.publicKey.pem, denied: [] });
  return made;
}

async function send(made: MemoryMaster, cmd: string, fields: SaltMap): Promise<void> {
  const body = pack(new Map([...mapOf({ cmd, id: 'm1', nonce: 'n1' }), ...fields]));
  const opened = { body, scan: scanMap(body), minion: 'm1', tokenChecked: true, version: 3 };
  await runAesCommand(made.ports, { request, ...opened });
}

/** The log-in of a minion whose key is new, with the grains that it offers for its key. */
async function logIn(made: MemoryMaster, grains?: SaltMap): Promise<SaltMap> {
  const { request: bytes } = auth.cases.find(({ state }) => state === 'pending')!;
  const load = new Map(mapIn(unpackMap(Buffer.from(bytes, 'base64')), 'load'));
  if (grains !== undefined) load.set('autosign_grains', grains);
  await answerAuth(made.ports, request, load, 3);
  return firedBy(made).find(({ tag }) => tag === 'salt/auth')!.data;
}

test('a log-in is told as a stock master tells it', async () => {
  const data = await logIn(master());
  expect(data.get('act')).toBe('pend');
  expect(stockShapes(/^salt\/auth$/, 'pend')).toContainEqual([...data.keys()]);
});

test('a log-in tells the offered grains only where the option lists its outcome', async () => {
  const grains = mapOf({ uuid: 'u-1' });
  expect((await logIn(master(), grains)).has('autosign_grains')).toBe(false);
  const rules = { authEventsAutosignGrains: ['pend'] };
  expect((await logIn(master(rules), grains)).get('autosign_grains')).toEqual(grains);
  const other = { authEventsAutosignGrains: ['accept', 'reject'] };
  expect((await logIn(master(other), grains)).has('autosign_grains')).toBe(false);
  const large = mapOf({ uuid: 'u'.repeat(20_000) });
  expect((await logIn(master(rules), large)).has('autosign_grains')).toBe(false);
});

test.each([
  ['accept', 'minions_pre', 'new1', 'accepted'],
  ['reject', 'minions_pre', 'new1', 'rejected'],
  ['delete', 'minions', 'm1', 'delete'],
] as const)('%s of a key is told as a stock master tells it', async (act, section, id, word) => {
  const made = master();
  const match = mapOf({ [section]: [id] });
  await changeKeys(made.ports, { act, user: 'root', principal: 'root' }, match, []);
  const [fired] = firedBy(made).filter(({ tag }) => tag === 'salt/key');
  expect(textOf(fired!.data, 'act')).toBe(word);
  expect(stockShapes(/^salt\/key$/, word)).toContainEqual([...fired!.data.keys()]);
});

const GRAINS = mapOf({ grains: mapOf({ os: 'Debian' }), saltenv: 'base', ver: '2' });

test.each([
  ['_pillar', GRAINS, /^minion\/refresh\//, 'minion/refresh/m1'],
  ['_register_resources', mapOf({ resources: mapOf({}) }), /^resource\//, 'resource/refresh/m1'],
] as const)('%s refreshes what is known of a minion, and tells it', async (...how) => {
  const [cmd, fields, stock, tag] = how;
  const made = master();
  await send(made, cmd, fields);
  const fired = firedBy(made).find((event) => event.tag === tag);
  expect(stockShapes(stock)).toContainEqual([...fired!.data.keys()]);
  for (const rules of [{ minionDataCacheEvents: false }, { minionDataCache: false }]) {
    const quiet = master(rules);
    await send(quiet, cmd, fields);
    expect(firedBy(quiet)).toEqual([]);
  }
});

import { RecordMac } from '@brine/crypt';
import { isProven } from '@brine/reactor';
import { vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltValue, unpack } from '@brine/wire';
import { beforeEach, expect, test } from 'vitest';
import { eventDoor, type SecretKind } from './event-door.ts';

const { master_key: master } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const mac = RecordMac.fromMasterKey(master.pem, 'reactor manage');
const KEY = `${'a+b/'.repeat(18)}abc=`;
const OTHER = `${'c+d/'.repeat(18)}abc=`;
const TOKEN = 'e'.repeat(64);
const DIGEST = 'f'.repeat(64);
const STARS = (text: string): string => '*'.repeat(text.length);

let taken: SecretKind[];
let asked: string[];
let isAway: boolean;
let forgotten: string[];
const door = eventDoor({
  keys: { all: () => [KEY, OTHER], isOwn: async (key) => key === KEY },
  mac: async () => mac,
  isToken: async (text) => {
    asked.push(text);
    if (isAway) throw new Error('NATS is away');
    return text === TOKEN;
  },
  onSecret: (kind) => taken.push(kind),
  forget: (jid) => forgotten.push(jid),
});

beforeEach(() => {
  taken = [];
  asked = [];
  isAway = false;
  forgotten = [];
});

const through = async (data: SaltValue, tag = 'my/tag') => {
  const passed = await door(tag, pack(data));
  return { ...passed, data: unpack(passed.body) };
};

const PLACES: readonly (readonly [string, (secret: string) => SaltValue])[] = [
  ['a value', (secret) => mapOf({ key: secret, other: 1 })],
  ['a text', (secret) => mapOf({ line: `curl -d key=${secret} x` })],
  ['a list below maps', (secret) => mapOf({ a: mapOf({ b: [1, [secret]] }) })],
  ['a name', (secret) => mapOf({ [secret]: 1 })],
  ['bytes', (secret) => mapOf({ raw: Buffer.from(`x${secret}y`) })],
  ['two places', (secret) => [secret, secret]],
  ['data that is no map', (secret) => secret],
];

test.each(PLACES)('local keys and live tokens are covered in %s', async (_where, place) => {
  for (const [secret, kind] of [
    [KEY, 'key'],
    [OTHER, 'key'],
    [TOKEN, 'token'],
  ] as const) {
    taken = [];
    const { data } = await through(place(secret));
    expect(pack(data)).toEqual(pack(place(STARS(secret))));
    expect(new Set(taken)).toEqual(new Set([kind]));
  }
});

test('what is no secret stays: digests, texts like keys', async () => {
  const plain = mapOf({ sum: DIGEST, text: 'a+b/'.repeat(19), hex: 'e'.repeat(63) });
  expect((await through(plain)).data).toEqual(plain);
  expect([asked, taken]).toEqual([[DIGEST], []]);
});

test('an event without a digest is passed on in the same turn', () => {
  expect(door('my/tag', pack(mapOf({ a: 1 })))).not.toBeInstanceOf(Promise);
});

test('while NATS is unreachable, and beyond 64 digests, all are covered', async () => {
  isAway = true;
  expect((await through([DIGEST])).data).toEqual([STARS(DIGEST)]);
  isAway = false;
  const digests = Array.from({ length: 70 }, (_, at) => at.toString(16).padStart(64, '0'));
  const { data } = await through(digests);
  expect(data).toEqual(digests.map((text, at) => (at < 64 ? text : STARS(text))));
});

const TAG = 'salt/run/20261128000000000000/salt/reactors/manage/add';

test.each(['add', 'delete', 'list', 'is_leader', 'set_leader'])(
  'what a stock runner asks of the reactor (%s) is passed on with a proof instead of the key',
  async (act) => {
    const tag = TAG.replace(/add$/, act);
    const { data, body, proof } = await through(mapOf({ event: 'x/*', key: KEY }), tag);
    expect(data).toEqual(mapOf({ event: 'x/*' }));
    const event = { tag, body, proof, timeMs: Date.now() };
    expect(isProven(mac, event)).toBe(true);
    expect(isProven(mac, { ...event, tag: `${tag}x` })).toBe(false);
    expect(isProven(mac, { ...event, body: pack(mapOf({ event: 'y' })) })).toBe(false);
    expect(isProven(mac, { ...event, timeMs: Date.now() + 3_600_000 })).toBe(false);
  },
);

test.each([
  ['the key of another user', mapOf({ event: 'x', key: OTHER })],
  ['a wrong key', mapOf({ event: 'x', key: 'guess' })],
  ['no key', mapOf({ event: 'x' })],
  ['no map', [KEY]],
])('%s gives no proof, and no key is passed on', async (_what, given) => {
  const { body, proof } = await through(given, TAG);
  expect(proof).toBeUndefined();
  for (const secret of [KEY, OTHER, 'guess'])
    expect(Buffer.from(body).includes(secret)).toBe(false);
});

const RUN = 'salt/run/20261128000000000000';
const PASSWORD = mapOf({ username: 'anne', password: 'correct horse' });

test.each([
  [`${RUN}/new`, 'runner.auth.mk_token'],
  [`${RUN}/ret`, 'runner.auth.mk_token'],
  [`${RUN}/ret`, 'http.query'],
  [`${RUN}/new`, 'runner.sdb.set'],
  ['salt/wheel/20261128000000000000/new', 'wheel.config.update_config'],
])('%s of %s is passed on without its arguments', async (tag, fun) => {
  const { data } = await through(mapOf({ fun, fun_args: ['x', PASSWORD], user: 'root' }), tag);
  expect(data).toEqual(mapOf({ fun, fun_args: [], user: 'root' }));
  expect(taken).toEqual(['run']);
  // The tool's entry in the job cache is there by the end of the run.
  expect(forgotten).toEqual(tag.endsWith('ret') ? ['20261128000000000000'] : []);
});

test.each([
  [`${RUN}/ret`, 'runner.auth.mk_token'],
  ['salt/wheel/20261128000000000000/ret', 'wheel.key.gen'],
])('%s of %s is passed on without its return', async (tag, fun) => {
  const { data } = await through(mapOf({ fun, fun_args: [], return: PASSWORD }), tag);
  const shown = 'not shown: it is a secret';
  expect(data).toEqual(mapOf({ fun, fun_args: [], return: shown }));
});

test.each([
  [`${RUN}/new`, 'runner.jobs.list_jobs'],
  [`${RUN}/progress`, 'runner.auth.mk_token'],
  ['salt/job/20261128000000000000/new', 'auth.mk_token'],
])('%s of %s keeps what it has', async (tag, fun) => {
  const given = mapOf({ fun, fun_args: ['x', mapOf({ a: 1 })] });
  expect((await through(given, tag)).data).toEqual(given);
  expect([taken, forgotten]).toEqual([[], []]);
});

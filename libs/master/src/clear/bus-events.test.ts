import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { MasterUnavailableError } from '../errors.ts';
import type { EventPage, PageQuestion } from '../ports/event-pages.ts';
import type { MasterRules } from '../ports/ports.ts';
import { runClearCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const ROOT = { user: 'root', key: 'root-key' };

const PAGE: EventPage = {
  events: [
    {
      tag: 'site/x',
      kind: 'local',
      timeMs: 1.5,
      position: '1-0_00000000',
      data: mapOf({ a: 1 }),
    },
  ],
  next: '2-0_00000000',
  even: true,
  over: false,
  notices: ['Old ones are gone.'],
};

/** Asks a master with this bus; `asked` are the questions that came through. */
async function ask(
  args: SaltValue,
  answer: () => Promise<EventPage> = () => Promise.resolve(PAGE),
  who: Record<string, SaltValue> = ROOT,
  rules: Partial<MasterRules> = {},
): Promise<{ readonly reply: SaltMap; readonly asked: readonly PageQuestion[] }> {
  const asked: PageQuestion[] = [];
  const made = memoryMaster({
    masterKey,
    rules,
    userKeys: { root: 'root-key', anne: 'anne-key' },
  });
  const page = (question: PageQuestion): Promise<EventPage> => {
    asked.push(question);
    return answer();
  };
  Object.assign(made.ports, { pages: { page } });
  const request = { id: 'r', body: Buffer.alloc(0), gatewayHost: 'h' };
  const load = mapOf({ cmd: 'brine_events', args, ...who });
  const { value } = await runClearCommand(made.ports, request, load);
  if (!isMap(value)) throw new Error('no map');
  return { reply: value, asked };
}

const errorOf = (reply: SaltMap): string | undefined =>
  textOf(mapIn(reply, 'error') ?? mapOf({}), 'message');

test('a page comes back as it was asked for', async () => {
  const args = mapOf({ from: 'oldest', tag: 'site/*', kinds: ['local', 'ret'], max: 7, waitMs: 9 });
  const { reply, asked } = await ask(args);
  expect(asked).toEqual([
    { from: 'oldest', tag: 'site/*', kinds: ['local', 'ret'], max: 7, waitMs: 9 },
  ]);
  const page = mapIn(reply, 'value') ?? mapOf({});
  expect(textOf(page, 'next')).toBe(PAGE.next);
  expect(listOf(page, 'notices')).toEqual(PAGE.notices);
  const [event] = listOf(page, 'events') ?? [];
  expect(event).toEqual(mapOf({ ...PAGE.events[0] }));
});

test.each<[string, Record<string, SaltValue>, object]>([
  ['a position', { from: '1-0_00000000' }, { from: { position: '1-0_00000000' } }],
  ['a time', { fromMs: 12.5, toMs: 99 }, { from: { timeMs: 12.5 }, toMs: 99 }],
  ['a number', { fromSeq: 4 }, { from: { seq: 4 } }],
])('%s is a beginning', async (_, args, wanted) => {
  const { asked } = await ask(mapOf({ ...args, jid: null, minion: 'web*' }));
  expect(asked).toEqual([{ ...wanted, minion: 'web*', max: 1_000, waitMs: 0 }]);
});

test('counts and waits beyond the limits are cut', async () => {
  const { asked } = await ask(mapOf({ from: 'now', max: 1e9, waitMs: 1e9 }));
  expect(asked).toMatchObject([{ max: 1_000, waitMs: 1_500 }]);
});

test.each<[string, SaltValue]>([
  ['no beginning', mapOf({})],
  ['no map', 'x'],
  ['a kind that no reader gets', mapOf({ from: 'now', kinds: ['audit'] })],
  ['an unknown kind', mapOf({ from: 'now', kinds: ['x'] })],
  ['kinds that are no list', mapOf({ from: 'now', kinds: 'ret' })],
  ['a tag that is no text', mapOf({ from: 'now', tag: 1 })],
  ['a long glob', mapOf({ from: 'now', tag: '*'.repeat(2_000) })],
  ['an end that is no number', mapOf({ from: 'now', toMs: 'x' })],
])('%s is refused, and nothing is read', async (_, args) => {
  const { reply, asked } = await ask(args);
  expect(asked).toEqual([]);
  expect(errorOf(reply)).toBe('args ask for no page of events');
});

test('a wrong position and streams that are away are told in words', async () => {
  const wrong = await ask(mapOf({ from: 'x' }), () => Promise.reject(new RangeError('none')));
  expect(errorOf(wrong.reply)).toBe('none');
  const away = (): Promise<EventPage> => Promise.reject(new MasterUnavailableError('no NATS'));
  const none = await ask(mapOf({ from: 'now' }), away);
  expect(textOf(mapIn(none.reply, 'error') ?? mapOf({}), 'name')).toBe('SaltReqTimeoutError');
});

const ANNE = { user: 'anne', key: 'anne-key' };

/** The rules that give a local user these rights. */
const rulesFor = (anne: readonly string[]): Partial<MasterRules> => ({
  access: {
    externalAuth: {},
    publisherAcl: { anne },
    sudoAcl: false,
    permissiveAcl: false,
    keepAclInToken: false,
    tokenExpire: 100,
    tokenExpireUserOverride: false,
    hashType: 'sha256',
  },
});

test('a user with limited rights gets no events: they carry returns of others', async () => {
  const rules = rulesFor(['.*', '@runner']);
  const { reply, asked } = await ask(mapOf({ from: 'now' }), undefined, ANNE, rules);
  expect(asked).toEqual([]);
  expect(errorOf(reply)).toContain('Authentication failure of type "user" occurred for user anne');
});

test('a user with all rights gets events, as from the HTTP API', async () => {
  const rules = rulesFor(['.*', '@runner', '@wheel']);
  const { reply, asked } = await ask(mapOf({ from: 'now' }), undefined, ANNE, rules);
  expect(asked).toHaveLength(1);
  expect(mapIn(reply, 'value')).toBeDefined();
});

test('a stranger gets no events', async () => {
  const { reply, asked } = await ask(mapOf({ from: 'now' }), undefined, { user: 'root', key: 'x' });
  expect(asked).toEqual([]);
  expect(reply.has('value')).toBe(false);
});

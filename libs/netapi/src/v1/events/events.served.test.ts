import { eventSchema, eventsSchema } from '@brine/api';
import type { Bus } from '@brine/bus';
import { startNats, type TestNats } from '@brine/testing';
import { mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, type Sent, served as servedScene } from '../../../test/served-scene.ts';
import { jidOf, WrittenEvents } from '../../../test/written-events.ts';

let nats: TestNats;
let bus: Bus;
let written: WrittenEvents;

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('http-api');
  written = new WrittenEvents(await nats.connect('worker-pool'));
}, 600_000);
afterAll(() => nats.close());
afterEach(closeScenes);

/** Jobs that the job cache knows as those of the narrow user. */
const own = new Set<string>();

/** A user with few rights. */
function isOwnJobs(load: SaltMap): boolean {
  return textOf(load, 'cmd') === 'brine_read' && textOf(load, 'read') === 'own_jobs';
}

function narrow(load: SaltMap) {
  const cmd = textOf(load, 'cmd');
  if (cmd === 'brine_rights') return mapOf({ principal: 'alice', acl: [], reach: mapOf({}) });
  if (isOwnJobs(load)) {
    const jids = mapIn(load, 'args')?.get('jids');
    const value = mapOf({
      jids: Array.isArray(jids)
        ? jids.filter((jid) => typeof jid === 'string' && own.has(jid))
        : [],
    });
    return mapOf({ value });
  }
  return usualAnswer(load);
}

async function served(answer = usualAnswer) {
  const { scene, token, ask: askScene } = await servedScene({ answer, bus });
  const ask = async (path: string, sent: Sent = {}) => {
    const headers = { Authorization: `Bearer ${token}` };
    const { status, text } = await askScene(`/v1/events${path}`, { headers, ...sent });
    return { status, json: JSON.parse(text) as Record<string, unknown> };
  };
  const page = async (query: string) => eventsSchema.parse((await ask(`?${query}`)).json);
  const all = async (query: string) => {
    const items: ReturnType<typeof eventSchema.parse>[] = [];
    let from: string | null = 'oldest';
    while (from !== null) {
      const { items: some, next } = await page(`from=${from}&${query}`);
      items.push(...some);
      from = next;
    }
    return items;
  };
  return { scene, ask, page, all };
}

test('pages have each event once, in order, also with a body above 8 KiB', async () => {
  const { page, all, ask } = await served();
  const { asOf } = await page('from=now');
  const jid = jidOf(1);
  await written.job(jid, 'root');
  for (let n = 0; n < 30; n += 1) await written.returns(jid, `web${n}`);
  const text = 'x'.repeat(20_000);
  await written.returns(jid, 'large', { return: text });
  await written.site('site/one', { n: 1 });
  const tags = [
    `salt/job/${jid}/new`,
    `salt/job/${jid}/publish`,
    ...Array.from({ length: 30 }, (_, n) => `salt/job/${jid}/ret/web${n}`),
    `salt/job/${jid}/ret/large`,
    'site/one',
  ];
  for (const limit of [1, 7, 500]) {
    expect((await all(`limit=${limit}`)).map(({ tag }) => tag)).toEqual(tags);
  }
  const items = await all('');
  expect(items[2]).toMatchObject({ kind: 'ret', jid, minion: 'web0', data: { return: true } });
  const large = items.at(-2);
  expect(large).not.toHaveProperty('data');
  expect(large?.size).toBeGreaterThan(20_000);
  const whole = await ask(`/${large?.href?.replace('events/', '') ?? ''}`);
  expect(eventSchema.parse(whole.json)).toMatchObject({ data: { return: text } });
  expect((await page(`from=${asOf}&limit=2`)).items.map(({ tag }) => tag)).toEqual(
    tags.slice(0, 2),
  );
  expect((await page(`from=${items.at(-2)?.position ?? ''}`)).items).toMatchObject([
    { tag: 'site/one' },
  ]);
});

test('each event has an address, also in a page of returns and of a job', async () => {
  const { all, ask } = await served();
  const items = await all('');
  expect(items.length).toBeGreaterThan(30);
  for (const { position, tag, kind } of items) {
    const stream = kind === 'job' ? 'publications' : 'events';
    const { json } = await ask(`/${position}?stream=${stream}`);
    expect(json).toMatchObject({ tag, position: expect.stringContaining('_') });
  }
});

test('a page has what was asked for', async () => {
  const { all, page } = await served();
  const jid = jidOf(1);
  const tagsOf = async (query: string) => (await all(query)).map(({ tag }) => tag);
  expect(await tagsOf('tag=site/*')).toEqual(['site/one']);
  expect(await tagsOf('kind=local')).toEqual(['site/one']);
  expect(await tagsOf('kind=job')).toEqual([`salt/job/${jid}/new`, `salt/job/${jid}/publish`]);
  expect(await tagsOf('minion=web1*')).toHaveLength(11);
  expect(await tagsOf(`jid=${jid}&tag=*/ret/web3`)).toEqual([`salt/job/${jid}/ret/web3`]);
  const [first] = await all('tag=site/one');
  expect(await tagsOf(`to=${first?.at ?? ''}&kind=local`)).toEqual([]);
  expect((await page('from=10m&kind=local')).items).toHaveLength(1);
  expect((await page('from=2020-01-01T00:00:00Z&kind=local')).next).toBeNull();
});

test('a narrow user sees its own jobs, also those that only the job cache knows', async () => {
  const { all, ask, scene } = await served(narrow);
  const [mine, other, old] = [jidOf(2), jidOf(3), jidOf(4)];
  await written.job(mine, 'alice');
  await written.job(other, 'bob');
  for (const jid of [mine, other, old]) await written.returns(jid, 'db1');
  own.add(old);
  const items = await all('');
  expect(items.map(({ tag }) => tag)).toEqual([
    `salt/job/${mine}/new`,
    `salt/job/${mine}/publish`,
    `salt/job/${mine}/ret/db1`,
    `salt/job/${old}/ret/db1`,
  ]);
  const { all: everything } = await served();
  for (const { position, kind, jid } of await everything('')) {
    const stream = kind === 'job' ? 'publications' : 'events';
    const { status } = await ask(`/${position}?stream=${stream}`);
    expect([jid, status]).toEqual([jid, jid === mine || jid === old ? 200 : 404]);
  }
  const asked = scene.master.loads.filter(isOwnJobs);
  expect(asked).not.toEqual([]);
  expect(asked.every((load) => !load.has('key') && textOf(load, 'token') === 'abc123')).toBe(true);
});

test('without the job cache a narrow user reads that events may be missing', async () => {
  const away = (load: SaltMap) =>
    isOwnJobs(load)
      ? mapOf({ error: mapOf({ name: 'SaltReqTimeoutError', message: 'away' }) })
      : narrow(load);
  const { page } = await served(away);
  const { notices, items } = await page('from=oldest&limit=500');
  expect(notices).toEqual([expect.stringContaining('job cache did not answer')]);
  expect(items.every(({ jid }) => jid === jidOf(2))).toBe(true);
});

test.each([
  ['from=yesterday', 400, 'bad-request'],
  ['from=..%2F..%2Fetc', 400, 'bad-request'],
  ['from=1-1_00000000', 410, 'gone'],
  [`tag=${'a*'.repeat(200)}`, 400, 'bad-request'],
  ['limit=501', 400, 'bad-request'],
  ['kind=audit', 400, 'bad-request'],
  ['other=1', 400, 'bad-request'],
  ['to=never', 400, 'bad-request'],
])('%s is refused', async (query, status, code) => {
  const { ask } = await served();
  expect((await ask(`?${query}`)).json).toMatchObject({ status, code });
});

test('a position beyond the end, or whose events were trimmed, is gone', async () => {
  await using other = await startNats();
  const more = new WrittenEvents(await other.connect('worker-pool'));
  const { scene, token, ask } = await servedScene({ bus: await other.connect('http-api') });
  const events = async (query: string) =>
    ask(`/v1/events?${query}`, { headers: { Authorization: `Bearer ${token}` } });
  const begin = eventsSchema.parse(JSON.parse((await events('from=oldest')).text)).asOf;
  for (let n = 0; n < 5; n += 1) await more.site(`site/${n}`);
  expect((await events(`from=${begin}`)).status).toBe(200);
  expect((await events(`from=9${begin}`)).status).toBe(410);
  const owner = await other.connect('event-bus');
  const purge = JSON.stringify({ seq: 4 });
  await owner.inbox.request('$JS.API.STREAM.PURGE.EVENTS', purge, { timeoutMs: 5_000 });
  const gone = await events(`from=${begin}`);
  expect([gone.status, gone.text]).toEqual([410, expect.stringContaining('not kept any more')]);
  expect(scene.faults).toEqual([]);
});

test('more searches than there are places are refused', async () => {
  const { ask, scene } = await served();
  const places = Array.from({ length: 8 }, () => scene.parts.searches.enter(['address 127.0.0.1']));
  expect((await ask('?from=now')).json).toMatchObject({ status: 503, code: 'too-many' });
  for (const leave of places) leave();
  expect((await ask('?from=now')).status).toBe(200);
});

test('events need a log-in', async () => {
  const { ask } = await served();
  expect((await ask('', { headers: {} })).status).toBe(401);
});

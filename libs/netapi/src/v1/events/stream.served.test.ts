import { streamSchema } from '@brine/api';
import type { Bus } from '@brine/bus';
import { endOf } from '@brine/bus/timeline';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served } from '../../../test/served-scene.ts';
import { StreamClient } from '../../../test/stream-client.ts';
import { jidOf, WrittenEvents } from '../../../test/written-events.ts';
import { readTopics } from '../../stream/topics.ts';

let nats: TestNats;
let bus: Bus;
let written: WrittenEvents;
const clients: StreamClient[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('http-api');
  written = new WrittenEvents(await nats.connect('worker-pool'));
}, 600_000);
afterAll(() => nats.close());
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await closeScenes();
});

/** Rights and own jobs of a narrow user. */
interface Narrow {
  acl: readonly unknown[];
  readonly own: Set<string>;
  isValid: boolean;
}

function answersOf(user: Narrow) {
  return (load: SaltMap) => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'get_token' && !user.isValid) return mapOf({});
    if (cmd === 'brine_rights') {
      return mapOf({ principal: 'alice', acl: user.acl as string[], reach: mapOf({}) });
    }
    if (cmd !== 'brine_read') return usualAnswer(load);
    const jids = mapIn(load, 'args')?.get('jids');
    const own = Array.isArray(jids)
      ? jids.filter((jid) => typeof jid === 'string' && user.own.has(jid))
      : [];
    return mapOf({ value: mapOf({ jids: own }) });
  };
}

async function replica(answer: (load: SaltMap) => ReturnType<typeof usualAnswer> = usualAnswer) {
  const { scene, base } = await served({ answer, bus });
  const open = async (topics: string, more: Parameters<StreamClient['open']>[2] = {}) => {
    const client = new StreamClient();
    clients.push(client);
    await client.open(base, topics, more);
    return client;
  };
  const follow = async (topics: string, more: Parameters<StreamClient['open']>[2] = {}) => {
    const client = await open(topics, more);
    await until('the stream begins', () => client.of('hello').length > 0);
    await until('it follows', () => scene.followers.stats.followers > 0);
    return client;
  };
  return { scene, base, open, follow };
}

const jobsOf = (count: number): string =>
  Array.from({ length: count }, (_, n) => `job:${jidOf(n)}`).join(',');
const has = (client: StreamClient, count: number) => () => client.tags.length >= count;

describe('a stream', () => {
  test('begins with its position, and has what happens, each as the document describes it', async () => {
    const { follow } = await replica();
    const client = await follow('events,jobs');
    const jid = jidOf(11);
    await written.job(jid, 'root', ['web1', 'web2']);
    await written.returns(jid, 'web1');
    await written.returns(jid, 'web2', { retcode: 2 });
    await written.site('site/large', { text: 'x'.repeat(9_000) });
    await until('all came', has(client, 5));
    expect(client.tags).toEqual([
      `salt/job/${jid}/new`,
      `salt/job/${jid}/publish`,
      `salt/job/${jid}/ret/web1`,
      `salt/job/${jid}/ret/web2`,
      'site/large',
    ]);
    const [hello] = client.of('hello');
    expect(hello).toMatchObject({ topics: ['events', 'jobs'], heartbeat: 15 });
    expect(client.retryMs).toBeGreaterThanOrEqual(2_000);
    const events = client.of('events').flat();
    expect(events[2]).toMatchObject({ kind: 'ret', minion: 'web1', data: { return: true } });
    expect(events[4]).not.toHaveProperty('data');
    expect(events[4]?.href).toMatch(/^events\/[\w.-]+$/);
    await until('the job is closed', () => client.of('job').some(({ closed }) => closed));
    expect(client.of('job').at(-1)).toEqual({
      jid,
      counts: { targeted: 2, returned: 1, failed: 1, waiting: 0 },
      closed: true,
    });
    for (const { event, id, data } of client.messages) streamSchema.parse({ event, id, data });
  });

  test('of a job has who returned, and the last state of each minion', async () => {
    const { follow } = await replica();
    const [jid, other] = [jidOf(12), jidOf(13)];
    const client = await follow(`job:${jid}`);
    for (const one of [jid, other]) {
      await written.job(one, 'root', ['web1']);
      await written.progress(one, 'web1', 1);
      await written.progress(one, 'web1', 2);
      await written.returns(one, 'web1', { retcode: 1 });
    }
    await until('it has returned', () => client.of('returns').length > 0);
    expect(client.of('returns').flat()).toMatchObject([
      { jid, id: 'web1', state: 'failed', retcode: 1 },
    ]);
    expect(client.of('progress').at(-1)).toEqual({
      jid,
      id: 'web1',
      state: 'state 2',
      result: true,
      number: 2,
      of: 3,
    });
    expect(client.messages.every(({ data }) => !JSON.stringify(data).includes(other))).toBe(true);
  });

  test('with a filter has the events that it matches', async () => {
    const { follow } = await replica();
    const client = await follow('events:site/*/end');
    for (const tag of ['site/a/end', 'site/a/begin', 'other/a/end', 'site/b/end']) {
      await written.site(tag);
    }
    await until('both came', has(client, 2));
    expect(client.tags).toEqual(['site/a/end', 'site/b/end']);
  });

  test.each([
    ['no topic', { topics: '' }, 'topics'],
    ['an unknown topic', { topics: 'nothing' }, 'no kind of topics'],
    ['topics that are all refused', { topics: 'nothing,jobs:1,job:x' }, 'no kind of topics'],
    ['a costly filter', { topics: 'events:a?' }, 'no topic'],
    ['a long filter', { topics: `events:${'a*'.repeat(150)}` }, 'no topic'],
    ['a path as a job', { topics: 'job:../../etc' }, 'no topic'],
    ['line ends in a topic', { topics: 'job:1\r\nevent: x' }, 'no topic'],
    ['an argument of a topic that has none', { topics: 'jobs:1' }, 'no topic'],
    ['many topics', { topics: jobsOf(17) }, 'more than 16'],
    ['very many topics', { topics: jobsOf(200) }, 'topics'],
    ['half a position', { topics: 'events', from: '1-1' }, 'no position'],
    ['a large number', { topics: 'events', from: `${'9'.repeat(40)}-1_00000000` }, 'no position'],
  ] as [string, { topics: string; from?: string }, string][])(
    'is not begun with %s',
    async (_, { topics, from }, why) => {
      const { open } = await replica();
      const client = await open(topics, from === undefined ? {} : { from });
      await until('it is answered', () => client.isEnded);
      expect([client.status, client.refusal]).toEqual([400, expect.stringContaining(why)]);
    },
  );

  test('refuses a topic by itself, and has the others', async () => {
    const { follow } = await replica();
    const odd = 'nothing\r\nevent: events';
    const asked = [odd, 'jobs', 'job:../../etc', 'events:odd/*', 'events', 'minions:q=*:0..900'];
    const client = await follow(asked.join(','));
    await written.site('odd/1');
    const jid = jidOf(14);
    await written.job(jid, 'root');
    await until('both came', () => client.tags.length > 0 && client.of('job').length > 0);
    expect(client.tags).toEqual(['odd/1']);
    expect(client.of('hello')).toMatchObject([{ topics: ['events:odd/*', 'jobs'] }]);
    expect(client.of('refused')).toEqual([
      { topic: odd, why: 'is of no kind of topics' },
      { topic: 'job:../../etc', why: expect.stringContaining('the id of a job') },
      { topic: 'events', why: 'is one of more than 1 of events' },
      { topic: 'minions:q=*:0..900', why: expect.stringContaining('up to 500 rows') },
    ]);
    const kinds = client.messages.map(({ event }) => event);
    expect(kinds.slice(0, 5)).toEqual(['hello', ...Array(4).fill('refused')]);
    for (const { event, id, data } of client.messages) streamSchema.parse({ event, id, data });
  });

  test('of nine windows has those that were asked for first', async () => {
    const { follow } = await replica();
    const windows = Array.from({ length: 9 }, (_, n) => `minions::${n}..${n}`).reverse();
    const client = await follow(windows.join(','));
    expect(client.of('hello')).toMatchObject([{ topics: windows.slice(0, 8).sort() }]);
    expect(client.of('refused')).toEqual([
      { topic: 'minions::0..0', why: 'is one of more than 8 of minions' },
    ]);
  });

  test('is not begun without a log-in, or for a page of another origin', async () => {
    const { base, scene } = await replica();
    const cookie = { Cookie: `session_id=${await scene.logIn()}` };
    const ask = async (headers: Record<string, string>) => {
      const ended = new AbortController();
      const url = `${base}/v1/stream?topics=events`;
      const { status } = await fetch(url, { headers, signal: ended.signal });
      ended.abort();
      return status;
    };
    expect(await ask({})).toBe(401);
    expect(await ask(cookie)).toBe(200);
    expect(await ask({ ...cookie, 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    expect(await ask({ ...cookie, Origin: 'http://evil.example' })).toBe(403);
  });

  test('has a limit for one user with topics of its own', async () => {
    const { open, scene } = await replica();
    for (let n = 0; n < 100; n += 1) {
      const topics = readTopics(`events:${n}*`, scene.parts.topics);
      scene.parts.streams.enter('alice', topics);
      scene.parts.streams.enter('alice', topics)();
    }
    const refused = await open('events:a*');
    await until('it is answered', () => refused.isEnded);
    expect([refused.status, refused.refusal]).toEqual([503, expect.stringContaining('too-many')]);
    expect((await open('events')).status).toBe(200);
  });
});

describe('a stream that resumes', () => {
  test('has what came meanwhile, once, from another replica too', async () => {
    const [one, other] = [await replica(), await replica()];
    const client = await one.follow('events:meanwhile/*');
    await written.site('meanwhile/1');
    await until('it came', has(client, 1));
    client.close();
    for (const n of [2, 3]) await written.site(`meanwhile/${n}`);
    await client.open(other.base, 'events:meanwhile/*');
    await until('it came', has(client, 3));
    await written.site('meanwhile/4');
    await until('it came', has(client, 4));
    client.close();
    await client.open(one.base, 'events:meanwhile/*');
    await written.site('meanwhile/5');
    await until('it came', has(client, 5));
    expect(client.tags).toEqual([1, 2, 3, 4, 5].map((n) => `meanwhile/${n}`));
    expect(client.messages.map(({ event }) => event)).not.toContain('lag');
  });

  test('continues after a page of events', async () => {
    const { base, open, scene } = await replica();
    await written.site('page/1');
    const headers = { Authorization: 'Bearer abc123' };
    const url = `${base}/v1/events?tag=page/*&limit=500`;
    const page = (await (await fetch(url, { headers })).json()) as { asOf: string };
    await written.site('page/2');
    const client = await open('events:page/*', { from: page.asOf });
    await until('it came', has(client, 1));
    expect(client.tags).toEqual(['page/2']);
    expect(scene.faults).toEqual([]);
  });

  test('many at once read the streams again once', async () => {
    const first = await replica();
    const seen = await first.follow('events:many/*');
    for (let n = 0; n < 500; n += 1) await written.site(`many/${n}`);
    await until('all came', has(seen, 500));
    const ids = [...new Set(seen.messages.map(({ id }) => id))];
    const { base, scene } = await replica();
    const many = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const client = new StreamClient();
        clients.push(client);
        client.lastId = ids[n % ids.length];
        return client.open(base, 'events:many/*');
      }),
    );
    await until('all follow', () => scene.followers.stats.followers === 200);
    await written.site('many/end');
    await until('all have the end', () => many.every(({ tags }) => tags.at(-1) === 'many/end'));
    const all = [...seen.tags.slice(0, 500), 'many/end'];
    for (const { tags } of many) expect(tags).toEqual(all.slice(all.length - tags.length));
    expect(scene.parts.replays.reads).toBeLessThan(10);
  });

  test('from a position that is not kept is informed, and follows from now on', async () => {
    const { open } = await replica();
    const end = await endOf(bus);
    for (const from of [end.replace(/_.*/, '_00000000'), end.replace(/^\d+/, '999999')]) {
      const client = await open('events:gone/*', { from });
      await until('it is informed', () => client.of('reset').length > 0);
      await until('it gets what comes', () => client.comments > 0);
      await written.site('gone/1');
      await until('it came', has(client, 1));
      expect(client.messages.map(({ event }) => event)).toEqual(['hello', 'reset', 'events']);
    }
  });

  test('after its events were trimmed is informed', async () => {
    await using own = await startNats();
    const writes = new WrittenEvents(await own.connect('worker-pool'));
    const reads = await own.connect('http-api');
    const begin = await endOf(reads);
    for (let n = 0; n < 5; n += 1) await writes.site(`trimmed/${n}`);
    const owner = await own.connect('event-bus');
    const purge = JSON.stringify({ seq: 4 });
    await owner.inbox.request('$JS.API.STREAM.PURGE.EVENTS', purge, { timeoutMs: 5_000 });
    const { base } = await served({ bus: reads });
    const client = new StreamClient();
    clients.push(client);
    await client.open(base, 'events', { from: begin });
    await until('it is informed', () => client.of('reset').length > 0);
  });
});

describe('a narrow user', () => {
  test('sees its own jobs, and no events of others', async () => {
    const user: Narrow = { acl: [], own: new Set(), isValid: true };
    const old = jidOf(21);
    await written.job(old, 'alice');
    await written.job(jidOf(22), 'bob');
    const { follow, scene } = await replica(answersOf(user));
    const client = await follow('events,jobs');
    user.own.add(old);
    const mine = jidOf(23);
    await written.job(mine, 'alice');
    for (const jid of [mine, old, jidOf(22)]) await written.returns(jid, 'web1');
    await written.site('site/secret');
    await written.returns(mine, 'web2');
    await until('its last event came', () => client.tags.includes(`salt/job/${mine}/ret/web2`));
    expect(client.tags).toEqual([
      `salt/job/${mine}/new`,
      `salt/job/${mine}/publish`,
      `salt/job/${mine}/ret/web1`,
      `salt/job/${old}/ret/web1`,
      `salt/job/${mine}/ret/web2`,
    ]);
    const counted = new Set(client.of('job').map(({ jid }) => jid));
    expect([...counted].sort()).toEqual([old, mine].sort());
    expect(scene.faults).toEqual([]);
  });

  test('gets nothing of the job of another, named as a topic or by a position', async () => {
    const user: Narrow = { acl: [], own: new Set(), isValid: true };
    const { open, scene } = await replica(answersOf(user));
    const from = await endOf(bus);
    const [theirs, mine] = [jidOf(24), jidOf(25)];
    await written.job(theirs, 'bob');
    await written.returns(theirs, 'web1');
    const client = await open(`job:${theirs},job:${mine}`, { from });
    await until('it follows', () => scene.followers.stats.followers > 0);
    await written.progress(theirs, 'web1', 1);
    await written.returns(theirs, 'web2');
    await written.job(mine, 'alice');
    await written.returns(mine, 'web1');
    await until('its own came', () => client.of('returns').length > 0);
    expect(client.messages.every(({ data }) => !JSON.stringify(data).includes(`"${theirs}"`))).toBe(
      true,
    );
  });

  test('with returns of some functions sees these, and no counts of the job', async () => {
    const user: Narrow = { acl: ['cmd.run'], own: new Set(), isValid: true };
    const { follow } = await replica(answersOf(user));
    const client = await follow(`job:${jidOf(26)},jobs`);
    await written.job(jidOf(26), 'bob');
    await written.returns(jidOf(26), 'web1');
    await written.returns(jidOf(26), 'web2', { fun: 'test.ping' });
    await written.returns(jidOf(26), 'web3');
    await until('the last came', () => client.of('returns').flat().length === 2);
    expect(client.of('returns').flat()).toMatchObject([{ id: 'web1' }, { id: 'web3' }]);
    expect(client.of('job')).toEqual([]);
  });
});

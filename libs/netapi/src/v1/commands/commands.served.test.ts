import { request } from 'node:http';
import { until } from '@brine/testing/waits';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  SaltFloat,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, published, type SceneOptions, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';

afterEach(closeScenes);

const NARROW = mapOf({ principal: 'alice', acl: ['test.*'], reach: mapOf({}) });

async function served(options: SceneOptions = {}) {
  const { scene, token, ask: askScene } = await servedScene(options);
  const headers = { Authorization: `Bearer ${token}` };
  const ask = async (path: string, body?: unknown) => {
    const sent = body === undefined ? { headers } : { method: 'POST', headers, body };
    const { status, text } = await askScene(`/v1/commands${path}`, sent);
    return { status, json: JSON.parse(text) as Record<string, unknown> };
  };
  const send = async (load: Readonly<Record<string, SaltValue>>) => {
    const answer = await ask('/requests', { load: pack(mapOf(load)).toString('base64') });
    const { reply } = answer.json;
    return {
      ...answer,
      reply: typeof reply === 'string' ? unpack(Buffer.from(reply, 'base64')) : undefined,
    };
  };
  /** The last load that came to a worker. */
  const last = (): SaltMap => scene.master.loads.at(-1) ?? mapOf({});
  return { scene, token, ask, send, last, headers };
}

/** The answers of a master whose caller has few rights. */
const narrow = (load: SaltMap): SaltValue =>
  textOf(load, 'cmd') === 'brine_rights' ? NARROW : usualAnswer(load);

const PUBLISH = { cmd: 'publish', fun: 'test.ping', tgt: '*', tgt_type: 'glob', arg: [] };

describe('a load', () => {
  test('goes to a worker as that of the session, and its answer comes back as it is', async () => {
    const answer = mapOf({ load: mapOf({ jid: JID, minions: ['é', 'b'] }), f: new SaltFloat(1) });
    const { send, last } = await served({ answer: () => answer });
    const { status, reply } = await send({ ...PUBLISH, user: 'root', key: '' });
    expect({ status, reply }).toEqual({ status: 200, reply: answer });
    expect(last().has('key')).toBe(false);
    expect(textOf(last(), 'user')).toBe('alice');
    expect(mapIn(last(), 'kwargs')).toEqual(mapOf({ token: 'abc123' }));
  });

  test.each([
    ['runner', { fun: 'test.arg', kwarg: mapOf({}) }],
    ['wheel', { fun: 'key.list_all' }],
    ['brine_query', { query: 'list_jobs', args: mapOf({}) }],
    ['brine_events', { args: mapOf({}) }],
  ])('%s has the token beside its fields', async (cmd, more) => {
    const { send, last } = await served({ answer: () => mapOf({ ok: true }) });
    expect(await send({ cmd, ...more })).toMatchObject({ status: 200 });
    expect(textOf(last(), 'token')).toBe('abc123');
    expect(last().has('kwargs')).toBe(false);
  });

  test.each<[string, Record<string, SaltValue>]>([
    ['a token', { ...PUBLISH, kwargs: mapOf({ token: 'ab' }) }],
    ['a token beside kwargs', { ...PUBLISH, token: 'ab' }],
    ['a password', { ...PUBLISH, kwargs: mapOf({ password: 'x' }) }],
    ['a login module', { cmd: 'runner', fun: 'test.arg', eauth: 'pam' }],
    ['a name', { cmd: 'wheel', fun: 'key.list_all', username: 'root' }],
    ['a key', { ...PUBLISH, key: 'k' }],
    ['a key of a runner', { cmd: 'runner', fun: 'test.arg', key: 'k' }],
  ])('with %s is refused before a worker sees it', async (_, load) => {
    const { send, scene } = await served();
    const refused = await send(load);
    expect(refused).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(refused.json['detail']).toContain('no credentials');
    expect(scene.master.loads).toEqual([]);
  });

  test.each<Record<string, SaltValue>>([
    { cmd: 'mk_token', eauth: 'pam' },
    { cmd: 'get_token', token: 'ab' },
    { cmd: 'brine_rights' },
    { cmd: 'ping' },
    { cmd: '_return', id: 'web1' },
    { cmd: ['publish'] },
    {},
  ])('with the command %j is refused before a worker sees it', async (load) => {
    const { send, scene } = await served();
    expect(await send(load)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
    expect(scene.master.loads).toEqual([]);
  });

  test.each([
    ['no base64 of msgpack', 'AAAA', 400],
    ['a list', pack([1]).toString('base64'), 400],
    ['msgpack that ends early', Buffer.from([0x81, 0xa3]).toString('base64'), 400],
    ['more than 4 MiB', 'A'.repeat(6_000_000), 400],
  ])('that is %s is refused', async (_, load, status) => {
    const { ask, scene } = await served();
    expect((await ask('/requests', { load })).status).toBe(status);
    expect(scene.master.loads).toEqual([]);
  });

  test.each([
    ['publish', ['runner', 'wheel'], 'local'],
    ['brine_batch', ['local_async', 'runner'], 'local'],
    ['brine_resolve', [], 'local'],
    ['runner', ['local'], 'runner'],
    ['brine_query', ['local', 'wheel'], 'runner'],
    ['wheel', ['local', 'runner'], 'wheel'],
  ])('%s with the clients %j is refused', async (cmd, enabled, named) => {
    const { send, scene } = await served({ enabled });
    const refused = await send({ ...PUBLISH, cmd });
    expect(refused).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect(refused.json['detail']).toContain(`Client disabled: '${named}'`);
    expect(scene.master.loads).toEqual([]);
  });

  test('has its node groups expanded, which commands elsewhere do not know', async () => {
    const { send, last, scene } = await served({ answer: () => published(['web1']) });
    scene.nodegroups.set('webs', 'L@web1,web2');
    expect(await send({ ...PUBLISH, tgt: 'webs', tgt_type: 'nodegroup' })).toMatchObject({
      status: 200,
    });
    expect([textOf(last(), 'tgt'), textOf(last(), 'tgt_type')]).toEqual([
      'L@web1,web2',
      'compound',
    ]);
    await send({ ...PUBLISH, tgt: 'N@webs and not web2', tgt_type: 'compound' });
    expect(textOf(last(), 'tgt')).toBe('L@web1,web2 and not web2');
    const count = scene.master.loads.length;
    const { status, reply } = await send({ ...PUBLISH, tgt: 'none', tgt_type: 'nodegroup' });
    expect(status).toBe(200);
    expect(reply !== undefined && isMap(reply) ? mapIn(reply, 'error') : undefined).toEqual(
      mapOf({
        name: 'NodegroupError',
        message: 'Node group none unavailable in /etc/salt/master',
      }),
    );
    expect(scene.master.loads).toHaveLength(count);
  });

  test('finds no room beyond the share of its user, and a master that is away', async () => {
    const { send, scene } = await served();
    const leave = Array.from({ length: 512 }, () => scene.room.enter(['user pam alice']));
    expect(await send(PUBLISH)).toMatchObject({ status: 503, json: { code: 'too-many' } });
    for (const one of leave) one();
    scene.master.expected = false;
    expect(await send(PUBLISH)).toMatchObject({ status: 503, json: { code: 'no-master' } });
    expect(scene.room.stats.inHand).toBe(0);
  });
});

test('the options name who asks, and whether it reads all', async () => {
  const whole = await served();
  expect(await whole.ask('/options')).toEqual({
    status: 200,
    json: { principal: 'alice', readsAll: true, options: { timeout: 5 } },
  });
  const few = await served({ answer: narrow });
  expect((await few.ask('/options')).json).toMatchObject({ readsAll: false });
});

describe('a stream of events', () => {
  async function follow(path: string, options: SceneOptions = {}) {
    const { scene, headers } = await served(options);
    const events: SaltValue[] = [];
    const stop = await new Promise<() => void>((resolve) => {
      const asked = request(`${scene.url}/v1/commands${path}`, { headers }, (answer) => {
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          for (const [, data = ''] of text.matchAll(/^data: (\S+)$/gm)) {
            events.push(unpack(Buffer.from(data, 'base64')));
          }
        });
        answer.on('error', () => undefined);
        resolve(() => void asked.destroy());
      });
      asked.on('error', () => undefined);
      asked.end();
    });
    return { scene, events, stop };
  }

  test('carries tags and data as they are', async () => {
    const { scene, events, stop } = await follow('/events');
    const bytes = Buffer.from([0xff, 0x00]);
    scene.live.fire('site/x\ny', { f: new SaltFloat(1), bytes, n: null });
    await until('the event came', () => events.length === 1);
    expect(events).toEqual([['site/x\ny', mapOf({ f: new SaltFloat(1), bytes, n: null })]]);
    stop();
  });

  test('of its own has those of jobs that the caller began', async () => {
    const { scene, events, stop } = await follow('/events?only=own');
    const other = '20261129204500999999';
    for (const [jid, user] of [
      [JID, 'alice'],
      [other, 'bob'],
    ] as const) {
      scene.announce(jid, user);
      scene.live.returns('web1', true, jid);
    }
    scene.live.fire('site/x', {});
    scene.announce(JID, 'alice');
    await until('the last event came', () => events.length >= 3);
    const tags = events.map((event) => (Array.isArray(event) ? event[0] : undefined));
    expect(tags).toEqual([
      `salt/job/${JID}/new`,
      `salt/job/${JID}/ret/web1`,
      `salt/job/${JID}/new`,
    ]);
    stop();
  });

  test('has nothing that the caller may not read', async () => {
    const { scene, events, stop } = await follow('/events', { answer: narrow });
    scene.live.fire('site/x', {});
    scene.announce('20261129204500999999', 'bob');
    scene.announce(JID, 'alice');
    await until('the last event came', () => events.length === 1);
    expect(events).toHaveLength(1);
    stop();
  });

  test('takes no other words', async () => {
    const { ask } = await served();
    expect(await ask('/events?token=ab')).toMatchObject({ status: 400 });
    expect(await ask('/events?only=all')).toMatchObject({ status: 400 });
  });
});

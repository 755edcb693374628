import { configSchema, nodegroupsSchema, servicesSchema, templatesSchema } from '@brine/api/site';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { JID, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

/** Six users by their rights; `full` may do all. */
const USERS: Readonly<Record<string, readonly SaltValue[] | undefined>> = {
  full: undefined,
  'narrow by minion': [mapOf({ 'N@webs': ['test.*'] })],
  'narrow by function': ['state.*'],
  'runners and jobs': [mapOf({ '@runner': ['manage.*', 'jobs.*'] }), '@jobs'],
  'options and events': ['@events', mapOf({ '@wheel': ['config.values'] })],
  none: [],
};

const ROLL = mapOf({
  services: [
    mapOf({
      service: 'worker-pool',
      facts: mapOf({
        host: 'b',
        name: 'worker-pool-1',
        ready: true,
        release: '0.2.0',
        pid: 7,
        startedMs: 1_764_500_000_000,
        status: mapOf({ lags: [mapOf({ reader: 'host-c', pending: 3 })] }),
      }),
    }),
    mapOf({ service: 'publisher', facts: mapOf({ host: 'a', machine: 'a\u001b[2J', ready: 7 }) }),
    'no report',
  ],
  leftOut: 2,
});

const TEMPLATES = mapOf({
  ping: mapOf({ description: 'Ping', target: '*', targettype: 'glob', command: 'test.ping' }),
  patch: mapOf({ target: 'web*', command: 'state.apply,test.ping patch' }),
  keys: mapOf({ command: 'wheel.key.list_all' }),
  up: mapOf({ command: 'runners.manage.up' }),
});

interface Options {
  readonly user?: string;
  readonly answer?: (load: SaltMap) => SaltValue | undefined;
  readonly enabled?: readonly string[];
}

async function served({ user = 'full', answer = () => undefined, enabled }: Options = {}) {
  const rights = USERS[user];
  const { scene, token, ask } = await servedScene({
    templates: TEMPLATES,
    secrets: [{ from: 'option postgres', value: 'well-known-secret' }],
    ...(enabled === undefined ? {} : { enabled }),
    answer: (load) => {
      const given = answer(load);
      if (given !== undefined) return given;
      if (textOf(load, 'cmd') === 'brine_read') {
        return mapOf({ value: textOf(load, 'read') === 'services' ? ROLL : GROUPS });
      }
      if (textOf(load, 'cmd') === 'wheel') {
        return mapOf({ tag: `salt/wheel/${JID}`, data: mapOf({ return: OPTIONS, success: true }) });
      }
      if (textOf(load, 'cmd') !== 'brine_rights' || rights === undefined) return usualAnswer(load);
      const reach = mapOf({ 'N@webs': ['web1'] });
      return mapOf({ principal: 'alice', acl: [...rights], reach });
    },
  });
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (path: string) => {
    const { status, text } = await ask(`/v1${path}`, { headers });
    return { status, json: JSON.parse(text) as Record<string, unknown> };
  };
  const asked = (cmd: string): SaltMap[] =>
    scene.master.loads.filter((load) => textOf(load, 'cmd') === cmd);
  return { scene, get, asked };
}

const GROUPS = mapOf({
  groups: [mapOf({ name: 'webs', expression: 'web*', count: 1 }), mapOf({ name: 'big' })],
  next: 'webs',
});

const OPTIONS = mapOf({
  interface: '0.0.0.0',
  site: mapOf({ note: 'use well-known-secret here', 'well-known-secret': [Buffer.from('x')] }),
  url: 'https://u:pa55word@example.com/',
});

const FORBIDDEN = { status: 403, json: { code: 'forbidden' } };

describe('services', () => {
  test('are those of all hosts, with what troubles them', async () => {
    const { get } = await served();
    const { json } = await get('/services');
    const { services, ...rest } = servicesSchema.parse(json);
    expect(rest).toMatchObject({
      serving: false,
      silentHosts: [{ host: 'c', behind: 3 }],
      leftOut: 2,
    });
    expect(rest.trouble).toContain('no event-bus serves');
    expect(services.map(({ host, service }) => `${host} ${service}`)).toEqual([
      ' ',
      'a publisher',
      'b worker-pool',
    ]);
    expect(services[1]).toMatchObject({ ready: false, started: null, aheadMs: null });
    expect(services[1]?.machine).not.toContain('\u001b');
    expect(services[2]).toMatchObject({ started: '2025-11-30T10:53:20.000000Z', pid: 7 });
  });

  test.each(Object.keys(USERS))('are shown to %s by its rights alone', async (user) => {
    const { get, asked } = await served({ user });
    const sees = ['full', 'runners and jobs'].includes(user);
    expect(await get('/services')).toMatchObject(sees ? { status: 200 } : FORBIDDEN);
    expect(asked('brine_read')).toHaveLength(sees ? 1 : 0);
    const overview = (await get('/overview')).json;
    expect(overview['services'] === null).toBe(!sees);
  });

  test('are refused where the worker sees no right any more', async () => {
    const { get } = await served({
      answer: (load) => (textOf(load, 'cmd') === 'brine_read' ? mapOf({ value: null }) : undefined),
    });
    expect(await get('/services')).toMatchObject(FORBIDDEN);
    expect((await get('/overview')).json).toMatchObject({ services: null });
  });
});

describe('nodegroups', () => {
  test('come from the worker, in pages', async () => {
    const { get, asked } = await served({ user: 'none' });
    const { json } = await get(`/nodegroups?limit=2&after=${cursorOf(['a'])}`);
    expect(nodegroupsSchema.parse(json)).toEqual({
      items: [
        { name: 'webs', expression: 'web*', count: 1 },
        { name: 'big', expression: null, count: null },
      ],
      next: cursorOf(['webs']),
    });
    const [load] = asked('brine_read');
    expect(load && textOf(load, 'token')).toBe('abc123');
    expect(load && mapIn(load, 'args')).toEqual(mapOf({ limit: 2, after: 'a' }));
  });

  test.each(['?limit=51', '?q=x', '?after=x', `?after=${cursorOf([1])}`])(
    'with %s are refused',
    async (query) => {
      const { get } = await served();
      expect(await get(`/nodegroups${query}`)).toMatchObject({ status: 400 });
    },
  );
});

describe('templates', () => {
  test.each([
    ['full', ['keys', 'patch', 'ping', 'up']],
    ['narrow by minion', ['ping']],
    ['narrow by function', []],
    ['runners and jobs', ['up']],
    ['options and events', []],
    ['none', []],
  ])('of %s are those that it may run somewhere', async (user, names) => {
    const { get } = await served({ user });
    const { items } = templatesSchema.parse((await get('/templates')).json);
    expect(items.map(({ name }) => name)).toEqual(names);
  });

  test('have what SaltGUI takes from them', async () => {
    const { get } = await served();
    const { items } = templatesSchema.parse((await get('/templates')).json);
    expect(items[2]).toEqual({
      name: 'ping',
      description: 'Ping',
      target: '*',
      targetType: 'glob',
      command: 'test.ping',
    });
  });
});

describe('options', () => {
  test('are those of the wheel, without a secret anywhere', async () => {
    const { get, asked } = await served();
    const { json } = await get('/config');
    expect(configSchema.parse(json).values).toEqual({
      interface: '0.0.0.0',
      site: { note: '********', '********': ['x'] },
      url: '********',
    });
    const [load] = asked('wheel');
    expect(load && [textOf(load, 'fun'), textOf(load, 'token')]).toEqual([
      'config.values',
      'abc123',
    ]);
  });

  test.each(Object.keys(USERS))('are shown to %s by its rights alone', async (user) => {
    const { get, asked } = await served({ user });
    const sees = ['full', 'options and events'].includes(user);
    expect(await get('/config')).toMatchObject(sees ? { status: 200 } : FORBIDDEN);
    expect(asked('wheel')).toHaveLength(sees ? 1 : 0);
  });

  test('need a wheel that may be called at all', async () => {
    const { get, asked } = await served({ enabled: ['local', 'runner'] });
    expect(await get('/config')).toMatchObject(FORBIDDEN);
    expect(asked('wheel')).toEqual([]);
  });
});

test.each(['/services', '/nodegroups', '/templates', '/config'])(
  '%s takes no other parameter',
  async (path) => {
    const { get } = await served();
    expect((await get(`${path}?more=1`)).status).toBe(400);
  },
);

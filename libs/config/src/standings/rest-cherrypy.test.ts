import { describe, expect, test } from 'vitest';
import { judgeOptions } from '../judge.ts';
import type { ConfigMap, ConfigValue } from '../option.ts';
import { httpOptions } from '../options/http.ts';
import { masterStandings } from './master.ts';
import { readRestCherrypy, restCherrypyMisfit } from './rest-cherrypy.ts';

/** The misfit of one value; undefined if it fits. */
function misfitOf(name: string, value: ConfigValue): string | undefined {
  return restCherrypyMisfit({ [name]: value })?.expected;
}

describe('values', () => {
  test('have the defaults of Salt', () => {
    expect(readRestCherrypy({})).toEqual({
      address: undefined,
      rootPrefix: '',
      app: undefined,
      appPath: '/app',
      staticDir: undefined,
      staticPath: '/static',
      favicon: undefined,
      webhookPath: '/hook',
      webhookDisableAuth: false,
      statsDisableAuth: false,
      enableSessions: true,
      bodyMaxBytes: undefined,
      apiAcl: undefined,
      authorizedIps: [],
    });
  });

  test('name an address with TLS or without', () => {
    const files = { ssl_crt: '/c', ssl_key: '/k' };
    expect(readRestCherrypy({ port: 8000, disable_ssl: true }).address).toEqual({
      host: '0.0.0.0',
      port: 8000,
    });
    expect(readRestCherrypy({ port: '8000', host: '::1', ...files }).address).toEqual({
      host: '::1',
      port: 8000,
      tls: { crt: '/c', key: '/k' },
    });
    expect(readRestCherrypy({ port: 8000, ...files, ssl_chain: '/i' }).address?.tls).toEqual({
      crt: '/c',
      key: '/k',
      chain: '/i',
    });
    expect(readRestCherrypy({ port: 8000, ...files, disable_ssl: true }).address).toEqual({
      host: '0.0.0.0',
      port: 8000,
    });
  });

  test('name no address without TLS files, unless TLS is disabled', () => {
    expect(readRestCherrypy({ port: 8000 }).address).toBeUndefined();
    expect(readRestCherrypy({ port: 8000, ssl_crt: '/c' }).address).toBeUndefined();
    expect(readRestCherrypy({ host: '127.0.0.1', disable_ssl: true }).address).toBeUndefined();
  });

  test.each([
    ['hook', '/hook'],
    ['/a/b/', '/a/b'],
    ['//x', '/x'],
  ])('have paths with one slash at the front: %s', (given, read) => {
    expect(readRestCherrypy({ webhook_url: given, root_prefix: given })).toMatchObject({
      webhookPath: read,
      rootPrefix: read,
    });
  });

  test('have 0 for a body without a bound of the operator', () => {
    expect(readRestCherrypy({ max_request_body_size: 0 }).bodyMaxBytes).toBeUndefined();
    expect(readRestCherrypy({ max_request_body_size: 5 }).bodyMaxBytes).toBe(5);
  });

  test('list the addresses of users; without users none may log in', () => {
    const { apiAcl } = readRestCherrypy({ api_acl: { users: { '*': '10.0.0.1', anne: ['*'] } } });
    expect([...(apiAcl ?? [])]).toEqual([
      ['*', ['10.0.0.1']],
      ['anne', ['*']],
    ]);
    expect(readRestCherrypy({ api_acl: {} }).apiAcl?.size).toBe(0);
  });
});

const MISFITS: readonly (readonly [string, ConfigValue, string])[] = [
  ['port', 0, 'a whole number from 1 to 65535'],
  ['port', 65_536, 'a whole number from 1 to 65535'],
  ['port', '80 00', 'a whole number from 1 to 65535'],
  ['port', 1.5, 'a whole number from 1 to 65535'],
  ['port', [8000], 'a whole number from 1 to 65535'],
  ['host', 1, 'a text'],
  ['host', '', 'a text'],
  ['ssl_crt', true, 'a text'],
  ['static', {}, 'a text'],
  ['disable_ssl', 'yes', 'true or false'],
  ['webhook_disable_auth', 1, 'true or false'],
  ['enable_sessions', 'False', 'true or false'],
  ['max_request_body_size', -1, 'a whole number from 0 to 9007199254740991'],
  ['authorized_ips', { a: 1 }, 'a list of texts'],
  ['authorized_ips', [1], 'a list of texts'],
  ['api_acl', ['anne'], 'a map with a map users'],
  ['api_acl', { users: ['anne'] }, 'a map with a map users'],
  ['root_prefix', '/a b', 'a path of an address'],
  ['root_prefix', '/:id', 'a path of an address'],
  ['webhook_url', '/hook/*', 'a path of an address'],
  ['webhook_url', '/login', 'a path that the API does not use itself'],
  ['webhook_url', '/', 'a path that the API does not use itself'],
  ['app_path', '/', 'a path that the API does not use itself'],
  ['static_path', 'events/', 'a path that the API does not use itself'],
];

test.each(MISFITS)('%s: %j does not fit', (name, value, wanted) => {
  expect(misfitOf(name, value)).toBe(`a map in which ${name} is ${wanted}`);
});

test('addresses in another form are refused with the name of their user', () => {
  expect(misfitOf('api_acl', { users: { anne: 5 } })).toBe(
    'a map in which the entry of anne in api_acl is a list of texts',
  );
});

test('two of app_path, static_path and webhook_url with one path do not fit', () => {
  const misfit = restCherrypyMisfit({ app_path: '/x', static_path: '/x' });
  expect(misfit?.expected).toBe('a map in which static_path is a path that no other option has');
});

test('the option takes a list of one-key maps, as Salt does, and refuses other values', () => {
  const { read } = httpOptions.rest_cherrypy;
  expect(read([{ port: 8000 }, { disable_ssl: true }])).toEqual({ port: 8000, disable_ssl: true });
  expect(read('8000')).toMatchObject({ expected: 'a map' });
  expect(read({ port: 'x' })).toMatchObject({ expected: expect.stringContaining('port') });
});

/** The warnings for options in a file. */
function warningsOf(values: ConfigMap): string[] {
  const originOf = () => ({ file: '/etc/salt/master', line: 3 });
  return judgeOptions(masterStandings, { values, originOf, accepted: [] }).map(({ text }) => text);
}

describe('warnings', () => {
  test('of names that Salt does not have propose the nearest', () => {
    expect(warningsOf({ rest_cherrypy: { webhook_ulr: '/x', colour: 'red' } })).toEqual([
      "Option 'rest_cherrypy' (webhook_ulr) in /etc/salt/master, line 3, is not in force: Salt " +
        "has no such option; did you mean 'webhook_url'?",
      "Option 'rest_cherrypy' (colour) in /etc/salt/master, line 3, is not in force: Salt has no " +
        'such option',
    ]);
  });

  test('name an address that is not served without TLS', () => {
    const [text] = warningsOf({ rest_cherrypy: { port: 8000 } });
    expect(text).toContain("Option 'rest_cherrypy' (port)");
    expect(text).toContain('ssl_crt and ssl_key');
  });

  test('of options for the web server of Salt are no loss', () => {
    const judged = judgeOptions(masterStandings, {
      values: { rest_cherrypy: { port: 1, disable_ssl: true, thread_pool: 100, debug: true } },
      originOf: () => ({ file: '/etc/salt/master', line: 3 }),
      accepted: [],
    });
    expect(judged.map(({ kind }) => kind)).toEqual(['harmless', 'unused']);
  });

  test('are absent for what is served', () => {
    const served = { port: 8000, disable_ssl: true, root_prefix: '/x', api_acl: { users: {} } };
    const values = { rest_cherrypy: served, netapi_enable_clients: ['local'], rest_timeout: 5 };
    expect(warningsOf(values)).toEqual([]);
  });

  test('of other ways to serve the API name what to set', () => {
    const [tornado, wsgi, log, disabled] = warningsOf({
      rest_tornado: { port: 1 },
      rest_wsgi: { port: 1 },
      api_logfile: '/x',
      netapi_disable_clients: ['local'],
    });
    expect(tornado).toContain('set rest_cherrypy instead');
    expect(wsgi).toContain('set rest_cherrypy instead');
    expect(log).toContain('the log of its services');
    expect(disabled).toContain('netapi_enable_clients');
  });
});

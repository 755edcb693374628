import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { consoleAddresses } from './console-addresses.ts';

const HTTP = { host: '127.0.0.1', port: 4507 };

test('the console is where the API listens', () => {
  expect(consoleAddresses({ brine: { http: HTTP }, restCherrypy: {} })).toEqual([
    'http://127.0.0.1:4507/console/',
  ]);
  const restCherrypy = { port: 8000, disable_ssl: true, root_prefix: '/salt' };
  expect(consoleAddresses({ brine: { http: { ...HTTP, host: '::1' } }, restCherrypy })).toEqual([
    'http://[::1]:4507/console/',
    `http://${hostname()}:8000/salt/console/`,
  ]);
});

test('all addresses of a host are none to connect to', () => {
  for (const host of ['0.0.0.0', '::']) {
    const brine = { http: { ...HTTP, host } };
    expect(consoleAddresses({ brine, restCherrypy: {} })).toEqual([
      'http://127.0.0.1:4507/console/',
    ]);
  }
});

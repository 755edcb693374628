// A stock salt-api has the port of rest_cherrypy. By stopping it leaves the port to http-api.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, freePorts, newestOf, releaseOf, saltVenv, waitForPort } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SaltApi } from '../stock-tools/salt-api.ts';
import { HttpClient } from './http-client.ts';

const RELEASE = newestOf('3008');
const START_MS = 60_000;
const TAKEN = 'another program has the port: it is tried again';
/** It tries again each 10 s. */
const TAKES_MS = 12_000;

let master: BrineMaster;
let stock: SaltApi | undefined;
/** Brine's API on its own port, and the port that both want. */
let own: HttpClient;
let shared: HttpClient;

beforeAll(async () => {
  const venv = await saltVenv(RELEASE);
  const [ownPort = 0, port = 0] = await freePorts(2);
  own = new HttpClient(ownPort);
  shared = new HttpClient(port);
  const config = {
    external_auth: { sharedsecret: { api: ['.*', '@runner', '@wheel', '@jobs'] } },
    sharedsecret: 'lab-secret',
    netapi_enable_clients: ['local', 'runner'],
    rest_cherrypy: { host: '127.0.0.1', port, disable_ssl: true },
    brine: { http: { port: ownPort }, event_framing: 'bare' },
  };
  master = await BrineMaster.start(config, {
    onHome: async ({ configDir, sockDir }) => {
      const lines = (await readFile(join(configDir, 'master'), 'utf8'))
        .split('\n')
        .filter((line) => !/^(?:sock_dir|brine):/.test(line));
      const framed = join(sockDir, releaseOf(RELEASE).framing);
      stock = await SaltApi.startAt({
        venv,
        env: { PATH: process.env['PATH'] ?? '', HOME: configDir },
        dir: join(configDir, '..', 'api'),
        master: [...lines, `sock_dir: ${JSON.stringify(framed)}`].join('\n'),
        port,
      });
    },
  });
  await waitForPort(ownPort, START_MS);
});
afterAll(async () => {
  await stock?.stop();
  await master?.close();
});

const JSON_BODY = { 'Content-Type': 'application/json' };

/** The status of a runner that is called with an eauth token. */
async function runWith(http: HttpClient, token: string): Promise<number> {
  const body = JSON.stringify([{ client: 'runner', fun: 'test.arg', token }]);
  const { status } = await http.ask({ method: 'POST', path: '/run', headers: JSON_BODY, body });
  return status;
}

async function tokenOf(http: HttpClient): Promise<string> {
  return http.eauthToken('api', await http.logIn('api'));
}

it('while salt-api has the port, one line is in the log', async () => {
  const lines = (await master.log()).split('\n').filter((line) => line.includes(TAKEN));
  expect(lines).toHaveLength(1);
  expect((await shared.ask({ method: 'GET', path: '/' })).headers['server']).toMatch(/CherryPy/);
});

it('a token of the one is valid at the other', async () => {
  const [ofStock, ofBrine] = [await tokenOf(shared), await tokenOf(own)];
  expect(ofStock).toMatch(/^[0-9a-f]{64}$/);
  for (const http of [shared, own]) {
    expect(await runWith(http, ofStock)).toBe(200);
    expect(await runWith(http, ofBrine)).toBe(200);
    // A stock salt-api looks the token of a follower up in the files of the master.
    for (const token of [ofStock, ofBrine]) {
      const follower = await http.follow({ path: '/events', headers: { 'X-Auth-Token': token } });
      follower.stop();
      expect(follower.status).toBe(200);
    }
  }
});

it('when salt-api stops, its port is taken within 12 s, and its tokens stay valid', async () => {
  const token = await tokenOf(shared);
  await stock?.stop();
  stock = undefined;
  const answer = await until(
    'the port is taken',
    () => shared.ask({ method: 'GET', path: '/' }).catch(() => undefined),
    { withinMs: TAKES_MS },
  );
  expect(answer.headers['server']).toBeUndefined();
  expect(await runWith(shared, token)).toBe(200);
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import { BrineMaster, ZmtpPeer } from '@brine/testing';
import { mapOf, type SaltValue } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clear } from '../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../tools/request-table/outcome.ts';

/*
 * A storm of logins that fail, by a service that answers late: what is published meanwhile does not
 * wait with them.
 */

const STORM = 700;
const ANSWER_MS = 60_000;
const ANNE = { eauth: 'rest', username: 'anne', password: 'right' };

let master: BrineMaster;
let server: Server;
const peers: ZmtpPeer[] = [];
/** Logins that the service has not answered. */
const waiting: ServerResponse[] = [];
let asked = 0;
/** Makes the bytes of each publish its own: alike ones are joined. */
let sent = 0;

beforeAll(async () => {
  server = createServer((request, answer) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      if (body.includes('password=right')) return void answer.end('["test.*", "@runner"]');
      asked += 1;
      waiting.push(answer.writeHead(401));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const minion = await PrivateKey.generate(2048);
  master = await BrineMaster.start(
    {
      external_auth: { rest: { '^url': `http://127.0.0.1:${port}/`, anne: ['test.*'] } },
      brine: { workers: 2 },
    },
    {
      onHome: ({ pkiDir }) => {
        const dir = join(pkiDir, 'minions');
        mkdirSync(dir, { recursive: true, mode: 0o700 });
        writeFileSync(join(dir, 'a'), minion.publicKey.pem);
      },
    },
  );
});
afterAll(async () => {
  for (const answer of waiting.splice(0)) answer.end();
  for (const peer of peers) peer.close();
  server?.close();
  await master?.close();
});

async function opened(): Promise<ZmtpPeer> {
  const peer = await ZmtpPeer.open({ port: master.home.retPort });
  peers.push(peer);
  return peer;
}

async function ask(peer: ZmtpPeer, load: Record<string, SaltValue>): Promise<string> {
  const sent = clear(mapOf(load));
  return outcomeOf(await peer.request(sent.body, ANSWER_MS), sent);
}

const JOB = { cmd: 'publish', fun: 'test.ping', tgt: 'a', arg: [], ret: '', jid: '' };

type Times = Readonly<Record<'key' | 'token', number>>;

/** How long the middle one of some publishes takes, in ms, by a key and by a token in turn. */
async function publishes(by: Record<keyof Times, Record<string, SaltValue>>): Promise<Times> {
  const peer = await opened();
  const took = { key: [] as number[], token: [] as number[] };
  for (let n = 0; n < 40; n += 1) {
    const way = n % 2 === 0 ? 'key' : 'token';
    const startMs = performance.now();
    expect(await ask(peer, { ...JOB, n: (sent += 1), ...by[way] })).toContain('"minions":["a"]');
    took[way].push(performance.now() - startMs);
  }
  const middle = (all: number[]): number => all.sort((a, b) => a - b)[all.length >> 1]!;
  return { key: middle(took.key), token: middle(took.token) };
}

/** One of the ways to log in, in turn. */
function failing(n: number): Record<string, SaltValue> {
  const wrong = { eauth: 'rest', username: `u${n % 50}`, password: `wrong ${n}` };
  switch (n % 4) {
    case 0:
      return { cmd: 'mk_token', ...wrong };
    case 1:
      return { cmd: 'runner', fun: 'jobs.active', ...wrong };
    case 2:
      return { cmd: 'wheel', fun: 'key.list_all', ...wrong };
    default:
      return { ...JOB, kwargs: mapOf(wrong) };
  }
}

test(`publishes go on while ${STORM} logins wait for an answer`, async () => {
  const key = readFileSync(join(master.home.cacheDir, '.root_key'), 'utf8').trim();
  const front = await opened();
  const token = /"token":"([0-9a-f]{64})"/.exec(
    await ask(front, { cmd: 'mk_token', ...ANNE }),
  )?.[1];
  const by = { key: { user: 'root', key }, token: { kwargs: mapOf({ token: token ?? '' }) } };
  await publishes(by);
  const quiet = await publishes(by);

  const storm = await Promise.all(Array.from({ length: STORM }, () => opened()));
  let refused = 0;
  const answers = storm.map(async (peer, n) => {
    const answer = await ask(peer, failing(n));
    refused += 1;
    return answer;
  });
  await expect.poll(() => asked, { timeout: ANSWER_MS }).toBeGreaterThanOrEqual(8);
  const busy = await publishes(by);
  const stillWaiting = STORM - refused;
  const told = (way: keyof Times): string =>
    `a publish by ${way} ${quiet[way].toFixed(0)} ms, in the storm ${busy[way].toFixed(0)} ms, ` +
    `${(busy[way] / quiet[way]).toFixed(2)} times`;
  const counts = `${stillWaiting} logins waited, ${asked} were checked`;
  process.stdout.write(`${told('key')}; ${told('token')}; ${counts}\n`);
  // The service answers no one, and hundreds of users are still served: no request waited for it.
  expect(stillWaiting).toBeGreaterThan(100);
  for (const way of ['key', 'token'] as const) {
    expect(busy[way]).toBeLessThan(quiet[way] * 10 + 500);
  }

  // The service comes back. No user got in, and the service was not asked about each.
  const answering = setInterval(() => {
    for (const answer of waiting.splice(0)) answer.end();
  }, 20);
  const outcomes = new Set(await Promise.all(answers));
  clearInterval(answering);
  expect([...outcomes].filter((one) => !/AuthenticationError|^clear ""$/.test(one))).toEqual([]);
  expect(asked).toBeLessThan(STORM / 2);
  // Who logged in from here before is not locked out by his neighbours.
  expect(await ask(front, { cmd: 'mk_token', ...ANNE })).toContain('"name":"anne"');
  const { stdout } = await master.brine('run', ['audit.list', 'kind=token', '--out', 'json']);
  const rows = JSON.parse(stdout) as { outcome: string; peer?: string }[];
  expect(rows.some(({ outcome }) => outcome === 'refused')).toBe(true);
  for (const { peer } of rows) expect(peer).toBe('127.0.0.1');
}, 240_000);

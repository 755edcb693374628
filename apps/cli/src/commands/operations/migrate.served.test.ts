import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { JobFiles, lookupUser } from '@brine/cachedir';
import { JobCache } from '@brine/job-cache';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { letPass, makeDatabase, startNats, type TestDatabase, type TestNats } from '@brine/testing';
import { mapOf, pack, type SaltMap, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { printedBy } from '../../printed.fixture.ts';

const JID = '20241125120000000001';
const RETURNED_AT = new Date('2024-11-25T12:00:05Z');
const TOKEN = 'ab'.repeat(32);
const KEY = `${'k'.repeat(75)}=`;
const FAR = 4_000_000_000;
const OWN_USER = process.getuid?.() === 0 ? 'root' : 'x';

let dir: string;
let nats: TestNats;
let database: TestDatabase;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'migrate-'));
  letPass(dir);
  nats = await startNats();
  database = await makeDatabase();
});
afterAll(async () => {
  await nats.close();
  await database.drop();
  rmSync(dir, { recursive: true, force: true });
});

/** A configuration directory with directories of its own. */
function home(name: string, config = '', user = OWN_USER): string {
  const at = join(dir, name);
  mkdirSync(at, { recursive: true });
  const places = ['pki', 'cache', 'sock'].map(
    (one) => `${{ pki: 'pki_dir', cache: 'cachedir', sock: 'sock_dir' }[one]}: ${at}/${one}\n`,
  );
  writeFileSync(
    join(at, 'master'),
    `${places.join('')}pidfile: ${at}/pid\nuser: ${user}\n${config}`,
  );
  return at;
}

function ours(): string {
  return home(
    'ours',
    `brine: {nats: {url: '${nats.urls['event-bus']}'}, postgres: {url: '${database.url}'}}\n`,
  );
}

function put(path: string, content: SaltMap | string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : pack(content, 'bin'));
}

/** A master of 3006 with a minion, a job, a token, a session. */
async function stockHome(): Promise<string> {
  const at = home('stock');
  await loadOrCreateMasterKeys(join(at, 'pki'));
  put(join(at, 'pki/minions/web-1'), 'a key\n');
  put(join(at, 'pki/minions_pre/new-1'), 'a new key\n');
  put(join(at, 'pki/minions_denied/web-1'), 'another key\n');
  const grains = mapOf({ os: 'Debian' });
  put(join(at, 'cache/minions/web-1/data.p'), mapOf({ grains, pillar: mapOf({ role: 'web' }) }));
  put(join(at, 'cache/minions/web-1/mine.p'), mapOf({ 'test.ping': true }));
  put(
    join(at, 'cache/tokens', TOKEN),
    mapOf({ name: 'fred', eauth: 'pam', start: 5, expire: FAR, token: TOKEN }),
  );
  put(join(at, 'cache/sessions/web-1'), KEY);
  put(join(at, 'cache/.root_key'), KEY);
  const files = new JobFiles({ cachedir: join(at, 'cache') });
  const load = mapOf({ fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', user: 'root' });
  await files.writeJob({ jid: JID, load, minions: ['web-1', 'web-2'] });
  await files.writeReturn(JID, 'web-1', mapOf({ return: true, retcode: 0, success: true }));
  // The file is as old as the return.
  utimesSync(join(files.dir(JID), 'web-1/return.p'), RETURNED_AT, RETURNED_AT);
  return at;
}

async function migrate(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await printedBy(['migrate', ...args]);
  expect(err).toBe('');
  expect(code, out).toBe(0);
  return out;
}

test('what comes from a master of 3006 goes back to one of 3008', async () => {
  const [stock, brine] = [await stockHome(), ours()];
  const first = await migrate('from-stock', '--stock', stock, '-c', brine);
  expect(first).toContain('keys: 1 accepted, 1 pending, 0 rejected, 1 denied; 3 added\n');
  for (const kind of ['grains', 'pillars', 'mines', 'tokens', 'sessions', 'jobs', 'returns']) {
    expect(first, kind).toContain(`${kind}: 1 moved\n`);
  }
  expect(readFileSync(join(brine, 'pki/master.pem'), 'utf8')).toBe(
    readFileSync(join(stock, 'pki/master.pem'), 'utf8'),
  );
  const second = await migrate('from-stock', '--stock', stock, '-c', brine);
  for (const kind of ['grains', 'pillars', 'mines', 'tokens', 'sessions', 'jobs', 'returns']) {
    expect(second, kind).toContain(`${kind}: 0 moved, 1 there already\n`);
  }

  const cache = await JobCache.connect(database.url);
  const job = await cache.getJob(JID);
  await cache.close();
  expect(job?.ledger).toMatchObject({ returned: 1, never: 1 });

  const back = home('back', 'keep_jobs_seconds: 0\n');
  await migrate('to-stock', '--stock', back, '-c', brine, '--release', '3008.2');
  const file = (path: string): SaltMap => unpackMap(readFileSync(join(back, 'cache', path)));
  expect(file('grains/web-1.p')).toEqual(mapOf({ os: 'Debian' }));
  expect(file('pillar/web-1.p')).toEqual(mapOf({ role: 'web' }));
  expect(file('mine/web-1.p')).toEqual(mapOf({ 'test.ping': true }));
  expect(file(`tokens/${TOKEN}.p`).get('_expires')).toBe(FAR);
  expect(readFileSync(join(back, 'cache/sessions/web-1'), 'utf8')).toBe(KEY);
  expect(readdirSync(join(back, 'pki/minions'))).toEqual(['web-1']);
  expect(readdirSync(join(back, 'pki/minions_pre'))).toEqual(['new-1']);
  const files = new JobFiles({ cachedir: join(back, 'cache') });
  expect(await files.readMinions(JID)).toEqual(['web-1', 'web-2']);
  expect((await files.readReturns(JID)).map(({ id }) => id)).toEqual(['web-1']);
});

test('the way back to the same 3006 takes away what was deleted meanwhile', async () => {
  const [stock, brine] = [join(dir, 'stock'), join(dir, 'ours')];
  rmSync(join(brine, 'pki/minions/web-1'));
  put(join(brine, 'pki/minions/web-9'), 'a key\n');
  // Brine's options name this list. Its directory does not exist.
  const lists = (at: string): string => `autosign_file: ${at}/lists/autosign\n`;
  appendFileSync(join(brine, 'master'), lists(brine));
  appendFileSync(join(stock, 'master'), lists(stock));
  put(join(brine, 'lists/autosign'), '*.example\n');
  const gone = 'cd'.repeat(32);
  put(join(stock, 'cache/tokens', gone), mapOf({ name: 'x', eauth: 'pam', start: 5, expire: FAR }));
  const out = await migrate('to-stock', '--stock', stock, '-c', brine, '--release', '3006.26');
  expect(out).toContain(`not copied: ${brine}/lists/autosign: ${stock}/lists is not there\n`);
  expect(readdirSync(join(stock, 'cache/tokens'))).toEqual([TOKEN]);
  expect(out).toContain('1 added, 1 removed');
  expect(existsSync(join(stock, 'pki/minions/web-1'))).toBe(false);
  expect(readdirSync(join(stock, 'pki/minions'))).toEqual(['web-9']);
});

test('in place, the pair that a 3008 master has under its id alone stays the pair', async () => {
  const at = home(
    'in-place',
    `id: salt1_master\nbrine: {nats: {url: '${nats.urls['event-bus']}'}, ` +
      `postgres: {url: '${database.url}'}}\n`,
  );
  await loadOrCreateMasterKeys(join(at, 'pki'), 2048, { id: 'salt1_master' });
  for (const name of ['master.pem', 'master.pub']) rmSync(join(at, 'pki', name));
  const pem = readFileSync(join(at, 'pki/salt1.pem'), 'utf8');
  // A minion can name a directory of the stock master's cache.
  const files = new JobFiles({ cachedir: join(at, 'cache') });
  await files.writeJob({ jid: JID, load: mapOf({ fun: 'test.ping' }), minions: [] });
  put(join(files.dir(JID), 'jid'), '\u001b[31mred');
  const out = await migrate('from-stock', '--stock', at, '-c', at);
  expect(out).toContain('not moved: jobs whose id is no job id: ?[31mred\n');
  for (const name of ['salt1.pem', 'master.pem']) {
    expect(readFileSync(join(at, 'pki', name), 'utf8')).toBe(pem);
  }
});

test('in place, the user of both owns what root made, also after a failure', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root gives files away');
  const daemon = await lookupUser('daemon');
  const servers = (postgres: string): string =>
    `id: salt2_master\n` +
    `brine: {nats: {url: '${nats.urls['event-bus']}'}, postgres: {url: '${postgres}'}}\n`;
  const at = home('of-daemon', servers(database.url), 'daemon');
  await loadOrCreateMasterKeys(join(at, 'pki'));
  await migrate('from-stock', '--stock', at, '-c', at);
  expect(statSync(join(at, 'pki/salt2.pem')).uid).toBe(daemon?.uid);

  const failed = home('failed', servers('postgres://127.0.0.1:1/none'), 'daemon');
  const words = ['migrate', 'from-stock', '--stock', at, '-c', failed];
  expect(await printedBy(words)).toMatchObject({ code: 1 });
  expect(statSync(join(failed, 'pki')).uid).toBe(daemon?.uid);
});

// A hostile fleet in the console: what minions and users write is drawn as text, in each view.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import { BrineMaster, freePorts } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltValue } from '@brine/wire';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PAGES } from '../../../apps/console/src/shell/pages.ts';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { ConsoleWindow, startBrowser } from './console-window.ts';

/** Signs of the ids here, which the master would refuse. */
const SIGNS = ' <>=\'"&;()!$#~^`{|}';
const PASSWORD = 'shared';
const LONG = 'L'.repeat(1_000_000);
/** Rows of a list that are opened. */
const OPENED = 3;
/** The longest text of a view: one value has 20,000 characters at most. */
const SHOWN_MAX = 400_000;
const ELEMENTS_MAX = 3_000;

/** Markup that names where it stands. It has no `/`, which no id may have. */
const markup = (kind: string): string => `<img src=x alt=${kind} onerror=evil=1>`;
/** Turns and hides what is beside it: bidi marks, colours and titles of terminals, NUL. */
const TURNED = '\u202Egnp.\u2066\u200B\u001B[31m\u001B]0;x\u0007\u0000';
/** A text of each kind of attack. */
const hostile = (kind: string): string => `${markup(kind)}${TURNED}<script>evil=1</script>`;

const IDS = [markup('id'), '__proto__', 'plain'];
const PENDING = markup('pending');
const USER = markup('user');
const GROUP = markup('group');

/** Which view shows a text of this kind, once its page is there. */
const DRAWN_BY: Readonly<Record<string, string>> = {
  id: '/minions',
  pending: '/keys',
  user: '/jobs',
  tag: '/events',
  reaction: '/reactor',
  due: '/schedule',
};

let master: BrineMaster;
let browser: Browser;
let window: ConsoleWindow;
let base = '';
const peers: TestPeer[] = [];

async function send(peer: TestPeer, cmd: string, fields: Record<string, SaltValue>): Promise<void> {
  await peer.send(sealedLoad(peer, cmd, fields));
}

/** Begins a job as the hostile user. */
async function begin(fun: string, arg: readonly string[]): Promise<string> {
  const ask = async (path: string, body: unknown, token = ''): Promise<Response> =>
    fetch(base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Auth-Token': token },
      body: JSON.stringify(body),
    });
  const login = { username: USER, password: PASSWORD, eauth: 'sharedsecret' };
  const token = (await ask('/login', login)).headers.get('x-auth-token') ?? '';
  const low = { client: 'local_async', tgt: '*', fun, arg };
  const answer = await ask('/', [low], token);
  const text = await answer.text();
  const jid = /\d{20}/.exec(text)?.[0];
  if (jid === undefined) throw new Error(`${answer.status}: ${text}`);
  return jid;
}

/** What a highstate returns: names, comments and changes are the minion's. */
function states(): SaltValue {
  const state = (name: string, result: boolean | null): SaltValue =>
    mapOf({
      __id__: hostile('stateid'),
      __run_num__: 0,
      __sls__: hostile('sls'),
      name,
      result,
      comment: hostile('comment') + LONG,
      changes: mapOf({ [hostile('change')]: mapOf({ old: hostile('old'), new: hostile('new') }) }),
      duration: 1.5,
      start_time: hostile('start'),
    });
  return new Map<SaltValue, SaltValue>([
    [`file_|-${hostile('state')}_|-x_|-managed`, state(hostile('name'), false)],
    ['__proto__', state('constructor', true)],
    [`cmd_|-__proto___|-__proto___|-run`, state('__proto__', null)],
  ]);
}

async function fillTheMaster(): Promise<void> {
  const [first, second, third] = peers as [TestPeer, TestPeer, TestPeer];
  const minions = [first, second, third];
  for (const peer of minions) {
    const grains = mapOf({
      id: peer.id,
      os: hostile('os'),
      osrelease: TURNED,
      kernel: '__proto__',
      saltversion: hostile('version'),
      role: LONG,
      [hostile('grain')]: hostile('value'),
      __proto__x: mapOf({ constructor: hostile('deep') }),
    });
    await send(peer, '_pillar', { grains, ver: '2', saltenv: 'base', pillarenv: null });
    await send(peer, '_mine', { data: mapOf({ [hostile('mine')]: hostile('mined') }) });
    const data = mapOf({ [hostile('key')]: hostile('data'), __proto__: LONG });
    for (const tag of [`site/${hostile('turned')}`, `site/${markup('tag')}`]) {
      await send(peer, '_minion_event', { tag, data, pretag: null });
    }
  }
  const ping = await begin('test.ping', [hostile('argument')]);
  const applied = await begin('state.apply', [hostile('mods')]);
  const returned = async (peer: TestPeer, jid: string, fun: string, value: SaltValue) =>
    send(peer, '_return', {
      jid,
      fun,
      fun_args: [hostile('argument')],
      return: value,
      retcode: 0,
      success: true,
      out: hostile('out'),
    });
  await returned(first, ping, 'test.ping', hostile('return'));
  await returned(second, ping, 'test.ping', new Map([['__proto__', hostile('proto')]]));
  await returned(third, ping, 'test.ping', LONG);
  for (const peer of minions) await returned(peer, applied, 'state.apply', states());
  await master.brine('run', ['test.arg', hostile('runner').replaceAll('\0', '')]);
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  const keys = await Promise.all(IDS.map(() => PrivateKey.generate(2048)));
  const starting = BrineMaster.start(
    {
      request_server_ttl: 120,
      minion_data_cache: true,
      sharedsecret: PASSWORD,
      external_auth: { sharedsecret: { [USER]: ['.*', '@runner', '@wheel', '@jobs'] } },
      netapi_enable_clients: ['local', 'local_async', 'runner', 'runner_async', 'wheel'],
      nodegroups: { [GROUP]: 'L@plain' },
      reactor: [{ [`none/${markup('reaction')}`]: [`/srv/${markup('file')}.sls`] }],
      schedule: { [markup('due')]: { function: 'test.arg', args: [markup('when')], hours: 12 } },
      brine: { workers: 2, http: { port }, minion_id_signs: SIGNS },
    },
    {
      onHome: ({ pkiDir }) => {
        const dir = join(pkiDir, 'minions');
        mkdirSync(dir, { recursive: true, mode: 0o700 });
        for (const [at, id] of IDS.entries()) {
          writeFileSync(join(dir, id), keys[at]?.publicKey.pem ?? '');
        }
      },
    },
  );
  [master, browser] = [await starting, await startBrowser()];
  for (const [at, id] of IDS.entries()) {
    const key = keys[at];
    if (key === undefined) throw new Error(`${id} has no key`);
    const peer = new TestPeer(id, key, master.home.retPort);
    peers.push(peer);
    await peer.signIn();
  }
  const stranger = await TestPeer.make(PENDING, master.home.retPort);
  peers.push(stranger);
  expect(await stranger.tryToSignIn()).toBe(false);
  await fillTheMaster();
  window = await ConsoleWindow.open(browser);
  await window.logIn(master);
}, 300_000);
afterAll(async () => {
  for (const peer of peers) peer.close();
  await browser?.close();
  await master?.close();
});

const seen = new Set<string>();

/** What no view may have, and the kinds of texts that it shows. */
async function look(): Promise<void> {
  const { page } = window;
  const where = page.url();
  const found = await page.evaluate<{
    readonly made: readonly string[];
    readonly evil: boolean;
    readonly text: string;
  }>(`({
    made: [...document.body.querySelectorAll('img, iframe, object, embed, script, [onerror]')]
      .map((element) => element.outerHTML.slice(0, 200)),
    evil: 'evil' in globalThis,
    text: document.body.innerText,
  })`);
  expect(found.made, where).toEqual([]);
  expect(found.evil, where).toBe(false);
  expect(found.text, where).not.toMatch(/[\u0000-\u0008\u000E-\u001F\u202A-\u202E\u2066-\u2069]/);
  expect(found.text.length, where).toBeLessThan(SHOWN_MAX);
  expect(await window.elements(), where).toBeLessThanOrEqual(ELEMENTS_MAX);
  for (const [, kind = ''] of found.text.matchAll(/<img src=x alt=(\w+)/g)) seen.add(kind);
}

test.each(PAGES)('$name and what it opens draw it as text', async (entry) => {
  const { page } = window;
  await window.openByMenu(entry);
  await look();
  await window.pressTabs(look);
  const list = page.url();
  for (let at = 1; at <= OPENED; at += 1) {
    const row = page.getByRole('main').getByRole('grid').first().getByRole('row').nth(at);
    if ((await row.count()) === 0) break;
    await row.focus();
    await page.keyboard.press('Enter');
    await window.settled();
    await look();
    await window.pressTabs(look);
    await page.goto(list);
    await window.settled();
  }
});

test('the pages of a job draw what each of its minions returned', async () => {
  const { page } = window;
  await page.goto(`${base}/console/jobs?fun=state.apply`);
  await window.settled();
  const row = page.getByRole('grid', { name: 'Jobs' }).getByRole('row').nth(1);
  await row.getByRole('img', { name: /^3 targeted/ }).waitFor();
  await row.focus();
  await page.keyboard.press('Enter');
  await until('its page is open', () => /\/jobs\/\d{20}$/.test(new URL(page.url()).pathname));
  await window.settled();
  await look();
  await window.pressTabs(look);
});

test('nothing failed, nothing broke the policy, and the texts were there to be read', () => {
  // The page of the one that has no accepted key asks for its parts too.
  const partsOfPending = `404 ${base}/v1/minions/${encodeURIComponent(PENDING)}/`;
  expect(window.failures.filter((line) => !line.startsWith(partsOfPending))).toEqual([]);
  const missing = /^Failed to load resource: .* 404 \(Not Found\)$/;
  expect(window.errors.filter((text) => !missing.test(text))).toEqual([]);
  const there = new Set(PAGES.map(({ path }) => path));
  const due = Object.keys(DRAWN_BY).filter((kind) => there.has(DRAWN_BY[kind] ?? ''));
  process.stdout.write(`hostile texts that were drawn: ${[...seen].sort().join(', ')}\n`);
  expect(due.filter((kind) => !seen.has(kind))).toEqual([]);
  expect(due.length).toBeGreaterThan(0);
});

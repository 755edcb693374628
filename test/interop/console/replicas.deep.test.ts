// Two http-api processes behind HAProxy: one is killed, one is started again, in a walk.
import { BrineMaster, freePorts } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { type HttpBalancer, startHttpBalancer } from '@brine/testing/nodes';
import { TestPeer } from '@brine/testing/peers';
import { loadPauses, until } from '@brine/testing/waits';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpReplica, startReplica } from '../../integration/security/http-replica.ts';
import { AlertWatch } from './alert-watch.ts';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';

const LONG = { withinMs: 120_000 };
const LIMIT_MS = 900_000;
/** A process is killed so long after an act was sent: before, while and after it is done, ms. */
const DELAYS_MS = sized({ change: [0, 25, 100], release: [0, 10, 25, 50, 100, 200] });
const MODES = ['tcp', 'http'] as const;
/** What is found again after all that. */
const FILTER = 'a-filter-that-stays*';

/** Requests that a killed process had, and a function that no minion here has described. */
const EXPECTED = /^(?:net::ERR_|50[234] )|^404 .*\/v1\/functions\/module\/test\.echo$/;

let master: BrineMaster;
let browser: Browser;
let replica: HttpReplica;
let firstPort = 0;
const peers: TestPeer[] = [];

const pendingOf = (mode: string, round: number): string => `${mode}-waits-${round}`;

beforeAll(async () => {
  [firstPort = 0] = await freePorts(1);
  master = await BrineMaster.start({
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    brine: { workers: 2, http: { port: firstPort } },
  });
  const addPeer = async (id: string): Promise<void> => {
    const peer = await TestPeer.make(id, master.home.retPort);
    peers.push(peer);
    await peer.tryToSignIn();
  };
  await addPeer('known');
  await master.acceptKeys(['known']);
  for (const mode of MODES) {
    for (const round of DELAYS_MS.keys()) await addPeer(pendingOf(mode, round));
  }
  replica = await startReplica(master);
  browser = await startBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  for (const peer of peers) peer.close();
  await replica?.close();
  await master?.close();
});

async function runner<T>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await master.brine('run', [...args, '--out', 'json']);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

async function pidOfFirst(): Promise<number | undefined> {
  return (await master.services()).find(({ name }) => name.startsWith('http-api'))?.pid;
}

/** A row of the record of acts. */
interface Act {
  readonly at: string;
  readonly kind: string;
  readonly outcome: string;
  readonly fun?: string;
  readonly jid?: string;
  readonly target?: string;
  readonly minions?: number;
}

async function recordSince(time: string): Promise<readonly Act[]> {
  const rows = await runner<readonly Act[]>('audit.list', 'limit=1000');
  return rows.filter(({ at }) => at >= time);
}

/** The argument of each job of a walk. */
async function marksOfJobs(mode: string): Promise<readonly string[]> {
  const found = await runner<Readonly<Record<string, { readonly Arguments: readonly unknown[] }>>>(
    'jobs.list_jobs',
    'search_function=test.echo',
  );
  const marks = Object.values(found).map((job) => String(job.Arguments[0]));
  return marks.filter((mark) => isOf(mode, mark)).sort();
}

const isOf = (mode: string, text = ''): boolean => text.startsWith(`${mode}-`);

/** Kills one of both by SIGKILL. */
async function kill(which: number): Promise<void> {
  if (which % 2 === 1) return replica.kill();
  const pid = await pidOfFirst();
  if (pid === undefined) throw new Error('the master has no http-api');
  process.kill(pid, 'SIGKILL');
}

/** The one that was killed serves again: its supervisor starts the first, the test the other. */
async function isBack(which: number): Promise<void> {
  if (which % 2 === 1) {
    replica = await replica.startAgain();
    return;
  }
  const serves = async () =>
    (await fetch(`http://127.0.0.1:${firstPort}/console/`).catch(() => undefined))?.status === 200;
  await until('the first http-api serves again', serves, LONG);
}

/** Sends an act of the page, and kills a process some time after. @returns how often it was sent */
async function actAmidKill(
  page: Page,
  path: string,
  { press, round }: { readonly press: () => Promise<void>; readonly round: number },
): Promise<() => number> {
  const keys: (string | undefined)[] = [];
  const isAct = (request: Request): boolean =>
    request.method() === 'POST' && new URL(request.url()).pathname === path;
  const onRequest = (request: Request): void => {
    if (isAct(request)) keys.push(request.headers()['idempotency-key']);
  };
  page.on('request', onRequest);
  const sent = page.waitForRequest(isAct);
  await press();
  await sent;
  await loadPauses(DELAYS_MS[round % DELAYS_MS.length] ?? 0);
  await kill(round);
  return () => {
    page.off('request', onRequest);
    expect(new Set(keys).size).toBe(1);
    return keys.length;
  };
}

/** A job from the page of runs. @returns how often it was sent */
async function runJob(window: ConsoleWindow, mark: string, round: number): Promise<number> {
  const { page } = window;
  await window.openByMenu({ path: '/run', name: 'Run' });
  const line = page.getByRole('form', { name: 'Command line' });
  await line.getByRole('textbox').fill(`salt known test.echo ${mark}`);
  await line.getByRole('button', { name: 'Take it' }).click();
  const button = page.getByRole('button', { name: 'Run on 1 minion' });
  const times = await actAmidKill(page, '/v1/jobs', { press: () => button.click(), round });
  await until('the page of the job is open', () => /\/jobs\/\d{20}/.test(page.url()), LONG);
  await window.settled();
  await page
    .getByRole('main')
    .getByRole('img', { name: /^1 targeted/ })
    .waitFor();
  return times();
}

/** Accepts a key that waits. @returns how often it was sent */
async function acceptKey(window: ConsoleWindow, id: string, round: number): Promise<number> {
  const { page } = window;
  await window.openByMenu({ path: '/keys', name: 'Keys' });
  const row = page.getByRole('grid').getByRole('row').filter({ hasText: id });
  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Accept 1', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Accept 1 key' });
  const button = dialog.getByRole('button', { name: 'Accept 1', exact: true });
  const times = await actAmidKill(page, '/v1/keys/act', { press: () => button.click(), round });
  await dialog.getByRole('status').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  return times();
}

test.each(MODES)(
  'a walk through HAProxy (%s) loses nothing to killed replicas, and does nothing twice',
  async (mode) => {
    const [, port] = new URL(replica.base).host.split(':');
    await using balancer: HttpBalancer = await startHttpBalancer(mode, [firstPort, Number(port)]);
    const base = `http://127.0.0.1:${balancer.port}`;
    const window = await ConsoleWindow.open(browser);
    const { page } = window;
    await window.logIn(master, balancer.port);
    const since = new Date().toISOString();
    const kept = await ConsoleWindow.tabOf(page.context());
    await kept.page.goto(`${base}/console/jobs?fun=${encodeURIComponent(FILTER)}`);
    await kept.settled(consolePath('/jobs'));
    const alerts = [await AlertWatch.begin(page), await AlertWatch.begin(kept.page)];

    const sent = { jobs: 0, keys: 0 };
    for (const round of DELAYS_MS.keys()) {
      sent.jobs += await runJob(window, `${mode}-${round}`, round);
      await isBack(round);
      sent.keys += await acceptKey(window, pendingOf(mode, round), round + 1);
      await isBack(round + 1);
      await page.getByText('● live', { exact: true }).waitFor();
    }
    const acts = DELAYS_MS.length;
    const record = await recordSince(since);
    const publishes = record.filter(({ kind, fun }) => kind === 'publish' && fun === 'test.echo');
    process.stdout.write(
      `${mode}: ${acts} jobs by ${sent.jobs} requests of the page, on record ` +
        `${publishes.length} times; ${acts} keys by ${sent.keys}; ` +
        `${window.failures.length} requests failed\n`,
    );
    // One job for each act: where its request came twice, it went to no minion the second time.
    expect(new Set(publishes.map(({ jid }) => jid)).size).toBe(acts);
    expect(publishes.reduce((sum, { minions = 0 }) => sum + minions, 0)).toBe(acts);
    expect(await marksOfJobs(mode)).toEqual([...DELAYS_MS.keys()].map((at) => `${mode}-${at}`));
    const accepted = record.filter(({ kind, target }) => kind === 'key' && isOf(mode, target));
    expect(accepted.map(({ target, outcome }) => `${target} ${outcome}`).sort()).toEqual(
      [...DELAYS_MS.keys()].map((at) => `${pendingOf(mode, at)} pending to accepted`),
    );

    // The user was logged in once, and saw no trouble, also not for a moment.
    expect(window.urls.filter((url) => url.endsWith('/v1/session'))).toHaveLength(1);
    await page.getByRole('button', { name: 'root', exact: true }).waitFor();
    const field = kept.page.getByRole('textbox', { name: 'Function' });
    expect(await field.inputValue()).toBe(FILTER);
    for (const tab of [window, kept]) {
      expect(tab.errors.filter((text) => !text.startsWith('Failed to load resource: '))).toEqual(
        [],
      );
      expect(tab.failures.filter((text) => !EXPECTED.test(text))).toEqual([]);
    }
    for (const one of alerts) expect(await one.texts()).toEqual([]);
    // The faults were real.
    expect(window.failures.some((text) => text.startsWith('net::'))).toBe(true);
    await window.close();
  },
  LIMIT_MS,
);

// The console of a large fleet: ten tabs of one browser, while many events come.
import { Swarm } from '@brine/swarm';
import { freePorts } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { HostGroup } from '@brine/testing/nodes';
import { until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PAGES } from '../../../apps/console/src/shell/pages.ts';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';

/** Minions: 20,000 by the environment. */
const MINIONS = Number(
  process.env['BRINE_CONSOLE_MINIONS'] ?? sized({ change: 500, release: 2_000 }),
);
const MINIONS_PER_PROCESS = 2_500;
/** Minions of one host: a process of a test machine may open 20,000 files. */
const HOST_MINIONS_MAX = 12_500;
const HOSTS = Math.ceil(MINIONS / HOST_MINIONS_MAX);
const PREFIX = 'many-';
/** More than a browser opens connections to one origin (6). */
const TABS = 10;
const EVENTS_PER_SECOND = 500;
const ELEMENTS_MAX = 3_000;
/** Keys that are pressed on each page. */
const MOVES = ['j', 'j', 'k', 'End', 'Home'] as const;
const LIMIT_MS = 1_800_000;

let group: HostGroup;
let browser: Browser;
let base = '';
const swarms: Swarm[] = [];
const tabs: ConsoleWindow[] = [];

/** An address of its own: 28,000 local ports reach one port of an address. */
const addressOf = (host: number): string => `127.0.0.${host + 2}`;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  group = await HostGroup.start();
  for (let at = 0; at < HOSTS; at += 1) {
    const master = await group.add(`host-${at}`, {
      interface: addressOf(at),
      auto_accept: true,
      max_open_files: 100_000,
      netapi_enable_clients: ['local', 'runner', 'wheel'],
      brine: { http: { port: at === 0 ? port : 0 } },
    });
    const first = Math.floor((at * MINIONS) / HOSTS);
    const own = Math.floor(((at + 1) * MINIONS) / HOSTS) - first;
    const swarm = await Swarm.start({
      host: addressOf(at),
      retPort: master.home.retPort,
      publishPort: master.home.publishPort,
      minions: own,
      firstIndex: first,
      idPrefix: PREFIX,
      processes: Math.ceil(own / MINIONS_PER_PROCESS),
    });
    swarms.push(swarm);
    expect((await swarm.connect()).answered).toBe(own);
  }
  browser = await startBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  for (const swarm of swarms) await swarm.close();
  await group?.close();
});

/** Runs `act` while minions fire events. */
async function amidEvents(act: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const fire = async (swarm: Swarm): Promise<void> => {
    while (!stop.signal.aborted) {
      const rate = EVENTS_PER_SECOND / swarms.length;
      await swarm.events({ inFlight: 100, ratePerSecond: rate, durationMs: 2_000 });
    }
  };
  const firing = Promise.all(swarms.map(fire));
  try {
    await act();
  } finally {
    stop.abort();
    await firing;
  }
}

/** The job of all minions, by the rig. */
async function pingAll(): Promise<string> {
  const [master] = group.hosts;
  const { stdout, stderr, code } = (await master?.brine('salt', [
    '--async',
    `${PREFIX}*`,
    'test.ping',
  ])) ?? { stdout: '', stderr: 'no master', code: 1 };
  expect(code, stderr).toBe(0);
  return /\d{20}/.exec(stdout)?.[0] ?? '';
}

async function expectNothingWrong(): Promise<void> {
  for (const [at, tab] of tabs.entries()) {
    expect(tab.errors, `tab ${at}`).toEqual([]);
    expect(tab.failures, `tab ${at}`).toEqual([]);
    expect(await tab.elements(), `tab ${at}`).toBeLessThanOrEqual(ELEMENTS_MAX);
  }
}

test(
  `${TABS} tabs of one browser are live by one stream, with ${MINIONS} minions`,
  async () => {
    const [master] = group.hosts;
    if (master === undefined) throw new Error('there is no host');
    const first = await ConsoleWindow.open(browser);
    tabs.push(first);
    await first.logIn(master);
    const context = first.page.context();
    while (tabs.length < TABS) tabs.push(await ConsoleWindow.tabOf(context));
    await amidEvents(async () => {
      for (const tab of tabs) {
        await tab.page.goto(`${base}/console/jobs`);
        await tab.settled(consolePath('/jobs'));
      }
      for (const { page } of tabs) await page.getByText('● live', { exact: true }).waitFor();
      await pingAll();
      const all = MINIONS.toLocaleString('en');
      const sentence = `${all} targeted: ${all} returned`;
      for (const { page } of tabs) {
        // A job that came before the page had asked for its rows is a row already.
        await page.getByRole('button', { name: /^Show [\d,]+ new$/ }).click();
        const bar = page
          .getByRole('grid', { name: 'Jobs' })
          .getByRole('row')
          .nth(1)
          .getByRole('img');
        await until('its row shows all returns', async () => {
          const name = await bar.getAttribute('aria-label');
          return name === sentence ? true : Promise.reject(new Error(`${name}`));
        });
      }
    });
    const readers = tabs.filter(({ urls }) => urls.some((url) => url.includes('/v1/stream')));
    expect(readers).toHaveLength(1);
    await expectNothingWrong();
  },
  LIMIT_MS,
);

test(
  'each page is used by keys while events come, with few elements',
  async () => {
    const [tab] = tabs;
    if (tab === undefined) throw new Error('there is no tab');
    await amidEvents(async () => {
      for (const entry of PAGES) {
        await tab.openByMenu(entry);
        const row = tab.page.getByRole('grid').first().getByRole('row').nth(1);
        if ((await row.count()) > 0) await row.focus();
        for (const key of MOVES) await tab.page.keyboard.press(key);
        await tab.settled();
        const figures = await tab.figures();
        process.stdout.write(`${entry.name}: ${JSON.stringify(figures)}\n`);
        expect(figures.elements, entry.name).toBeLessThanOrEqual(ELEMENTS_MAX);
      }
    });
    await expectNothingWrong();
  },
  LIMIT_MS,
);

// A walk through all pages of the console in Chromium, with a master and two minions of Salt.
import { BrineMaster, freePorts, newestOf, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { BUDGET } from '../../../apps/console/build/budget.ts';
import { PAGES } from '../../../apps/console/src/shell/pages.ts';
import { graveFindings } from './axe.ts';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';

const VERSIONS = [newestOf('3006'), newestOf('3008')];
const IDS = VERSIONS.map((version) => `walk-${version}`);
const ELEMENTS_MAX = 3_000;
const NARROW = { width: 360, height: 640 };
/** How long a minion works, and how long it has, seconds. */
const SLEEP_S = 13;
const DEADLINE_S = 8;
/** What other colours can break. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

let master: BrineMaster;
let browser: Browser;
/** Logged in as root, for all tests. */
let window: ConsoleWindow;
let page: Page;
let base = '';

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  const venvs = Promise.all(VERSIONS.map((version) => saltVenv(version)));
  const starting = BrineMaster.start({
    // What pages ask for by runners and wheels.
    netapi_enable_clients: ['local', 'local_async', 'runner', 'wheel'],
    reactor: [{ 'site/*': ['/srv/reactor/site.sls'] }],
    schedule: { nightly: { function: 'jobs.active', hours: 12 } },
    brine: { workers: 2, http: { port } },
  });
  [master, browser] = [await starting, await startBrowser()];
  for (const [index, venv] of (await venvs).entries()) {
    const home = await master.sandbox.minion(IDS[index] ?? '', master.home.retPort);
    master.sandbox.startMinion(venv, home);
  }
  await master.acceptKeys(IDS, 120_000);
  await master.waitForMinions(IDS, 120_000);
  window = await ConsoleWindow.open(browser);
  page = window.page;
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await master?.close();
});
// Whatever a test does, nothing is refused, fails, or leaves the origin.
afterEach(() => {
  expect(window.errors).toEqual([]);
  expect(window.failures).toEqual([]);
  expect(window.urls.filter((url) => !url.startsWith(base) && !url.startsWith('data:'))).toEqual(
    [],
  );
  expect(window.referers).toEqual([]);
});

async function salt(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await master.brine('salt', args);
  expect(code, stderr).toBe(0);
  return stdout;
}

const menu = (): Locator => page.getByRole('navigation', { name: 'Pages' });
const grid = (name: string): Locator => page.getByRole('grid', { name, exact: true });

/** The item of the menu for the page that is open. */
async function currentItem(): Promise<string> {
  const item = menu().locator('[aria-current="page"]');
  expect(await item.count()).toBe(1);
  return (await item.innerText()).split('\n')[0] ?? '';
}

/** Draws the page in other colours. */
async function dressIn(colorScheme: 'light' | 'dark', forcedColors: 'active' | 'none') {
  await page.emulateMedia({ colorScheme, forcedColors });
  const worn = page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`);
  await worn.waitFor({ state: 'attached' });
  // A colour on its way to another one is no fault.
  await until('the colours stay', () =>
    page.evaluate<boolean>(`new Promise((resolve) => requestAnimationFrame(() => {
      const isOn = ({ effect }) => effect.getComputedTiming().iterations !== Infinity;
      requestAnimationFrame(() => resolve(!document.getAnimations().some(isOn)));
    }))`),
  );
}

/** Judges the page that is open in all colours. */
async function expectNoGraveFindings(): Promise<void> {
  const found: string[] = [];
  const judge = async (what: string, rules: readonly string[]): Promise<void> => {
    const lines = await graveFindings(page, rules);
    found.push(...lines.map((line) => `${what}: ${line}`));
  };
  await dressIn('light', 'none');
  await judge('light', []);
  await dressIn('dark', 'none');
  await judge('dark', OF_COLOURS);
  await dressIn('dark', 'active');
  await judge('forced colours', OF_COLOURS);
  await dressIn('light', 'none');
  expect(found, page.url()).toEqual([]);
}

async function expectNoSideways(): Promise<void> {
  const widths = await page.evaluate<readonly number[]>(
    '[document.scrollingElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(widths[0], page.url()).toBeLessThanOrEqual(widths[1] ?? 0);
}

describe('the first page', () => {
  test('asks for a log-in, and a code is one', async () => {
    await page.goto(`${base}/console/`);
    await page.getByRole('heading', { name: 'Brine', level: 1 }).waitFor();
    await expectNoGraveFindings();
    await window.logIn(master);
    await page.getByRole('button', { name: 'root', exact: true }).waitFor();
  });

  test('loads no more scripts and elements than its budget', async () => {
    // Without the cache of the browser.
    const storageState = await page.context().storageState();
    const other = await ConsoleWindow.open(browser, { storageState });
    await other.page.goto(`${base}/console/`);
    await other.settled();
    const figures = await other.figures();
    await other.close();
    process.stdout.write(`first page: ${JSON.stringify(figures)}\n`);
    expect(other.errors).toEqual([]);
    expect(figures.scriptBytes).toBeGreaterThan(0);
    expect(figures.scriptBytes).toBeLessThanOrEqual(BUDGET.first);
    expect(figures.elements).toBeLessThanOrEqual(ELEMENTS_MAX);
  });
});

test('a job that begins waits behind a button, then has its row, its bar and its page', async () => {
  await page.goto(`${base}/console/jobs?fun=test.p*`);
  await window.settled(consolePath('/jobs'));
  await page.getByText('● live', { exact: true }).waitFor();
  // It is not of the filter, and not counted.
  await salt('*', 'test.echo', 'other');
  const shown = await salt('*', 'test.ping', '--show-jid');
  const jid = /\d{20}/.exec(shown)?.[0] ?? '';
  const fresh = page.getByRole('button', { name: 'Show 1 new', exact: true });
  await fresh.waitFor();
  // What one looks at has not moved.
  const rows = grid('Jobs').getByRole('row');
  await fresh.click();
  const row = rows.filter({ hasText: 'test.ping' }).first();
  const sentence = '2 targeted: 2 returned';
  await row.getByRole('img', { name: sentence, exact: true }).waitFor();
  await row.focus();
  await page.keyboard.press('Enter');
  await window.settled(consolePath(`/jobs/${jid}`));
  await page.getByRole('main').getByRole('img', { name: sentence, exact: true }).waitFor();
  await window.pressTabs();
  await expectNoGraveFindings();
  expect(await currentItem()).toBe('Jobs');
  await page.goBack();
});

test('a row shows who never returned once its deadline is over, then who was late', async () => {
  await page.goto(`${base}/console/jobs?fun=test.sleep`);
  await window.settled(consolePath('/jobs'));
  await page.getByText('● live', { exact: true }).waitFor();
  const body = { tgt: IDS[0], fun: 'test.sleep', arg: [SLEEP_S], deadline: DEADLINE_S };
  const jid = await page.evaluate<string>(`fetch('/v1/jobs', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(body))},
  }).then((answer) => answer.json()).then((begun) => begun.jid)`);
  await page.getByRole('button', { name: 'Show 1 new', exact: true }).click();
  const row = grid('Jobs').getByRole('row').nth(1);
  const bar = (sentence: RegExp): Locator => row.getByRole('img', { name: sentence });
  await bar(/^1 targeted: 1 waiting; runs for \d+ s, deadline in \d+ s$/).waitFor();
  await bar(/^1 targeted: 1 never returned$/).waitFor();
  await bar(/^1 targeted: 1 late$/).waitFor();
  // A click on a part shows its minions.
  await row.locator('[data-state="late"][title]').click();
  await window.settled(consolePath(`/jobs/${jid}`));
  await page.waitForURL(/\?tab=minions&state=late$/);
  await grid('Minions of this job').getByRole('row').nth(1).waitFor();
});

test.each(PAGES)('$name opens by the mouse, has its tabs and no grave fault', async (entry) => {
  const { name } = entry;
  await window.openByMenu(entry);
  expect(await currentItem()).toBe(name);
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
  expect(await page.getByRole('main').getByRole('alert').count()).toBe(0);
  await window.pressTabs();
  const elements = await window.elements();
  process.stdout.write(`${name}: ${elements} elements\n`);
  expect(elements).toBeLessThanOrEqual(ELEMENTS_MAX);
  await expectNoGraveFindings();
});

test('a finding links to the section of the documentation about it', async () => {
  await page.goto(`${base}/console/services`);
  await window.settled(consolePath('/services'));
  await page.getByRole('link', { name: 'runbook' }).first().click();
  await page.waitForURL(/\/runbook\/[a-z]+\?at=/);
  await window.settled();
  expect(await page.getByRole('heading', { level: 1 }).innerText()).not.toBe('Runbook');
  await expectNoGraveFindings();
});

test('texts typed in two filters both count, and follow the address back', async () => {
  await page.goto(`${base}/console/jobs`);
  await window.settled(consolePath('/jobs'));
  const field = (name: string) => page.getByRole('textbox', { name, exact: true });
  // The second before the first has been asked for.
  await field('Function').fill('test.*');
  await field('Target').fill('no-such*');
  await page.waitForURL(/\?fun=test\.\*&tgt=no-such\*$/);
  await page.getByText('No job is like this.').waitFor();
  await page.goto(`${base}/console/jobs?fun=test.ping`);
  await page.getByRole('link', { name: 'Jobs' }).click();
  await page.waitForURL(`${base}/console/jobs`);
  expect(await field('Function').inputValue()).toBe('');
  await page.goBack();
  await page.waitForURL(/fun=test\.ping$/);
  expect(await field('Function').inputValue()).toBe('test.ping');
});

test('each page opens by its keys', async () => {
  await page.goto(`${base}/console/`);
  await window.settled();
  for (const entry of [...PAGES, ...PAGES.slice(0, 1)]) {
    await page.keyboard.press('g');
    await page.keyboard.press(entry.key);
    await window.arrived(entry);
    expect(await currentItem()).toBe(entry.name);
  }
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  for (const { name } of PAGES) {
    await help.getByRole('cell', { name, exact: true }).waitFor();
  }
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
});

test('the palette finds each page by its name', async () => {
  for (const entry of PAGES) {
    await page.keyboard.press('/');
    await page.getByRole('textbox', { name: 'Search' }).fill(entry.name);
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Search' }).waitFor({ state: 'hidden' });
    await window.arrived(entry);
  }
});

test('a window of 360 pixels shows each page without scrolling sideways', async () => {
  const narrow = await ConsoleWindow.tabOf(page.context());
  [window, page] = [narrow, narrow.page];
  await page.setViewportSize(NARROW);
  await page.goto(`${base}/console/`);
  await window.settled();
  for (const entry of PAGES) {
    await page.getByRole('button', { name: 'Menu', exact: true }).click();
    await window.openByMenu(entry);
    await expectNoSideways();
  }
});

// The first minute: what `npm start` prints opens the console, and its five steps tick.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { newestOf, SaltSandbox, saltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';

const READY = 'Ctrl-C stops everything.';
const STEPS = ['minions', 'ping', 'trace', 'why', 'own'] as const;
type Step = (typeof STEPS)[number];

let demo: ReturnType<typeof startDemo>;
let browser: Browser;
let sandbox: SaltSandbox;
let window: ConsoleWindow;
/** What it has printed. */
let shown = '';
let startMs = 0;

/** What `npm start` starts, once the checkout is built. */
function startDemo() {
  const started = spawn(process.execPath, [BRINE, 'demo', '--stay'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return Object.assign(started, { ended: once(started, 'exit') });
}

beforeAll(async () => {
  const since = performance.now();
  demo = startDemo();
  demo.stdout.on('data', (chunk) => {
    shown += String(chunk);
  });
  [browser, sandbox] = await Promise.all([startBrowser(), SaltSandbox.create()]);
  await until('all is printed', () => shown.includes(READY), { withinMs: 400_000 });
  startMs = performance.now() - since;
  window = await ConsoleWindow.open(browser);
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await sandbox?.close();
  demo?.kill('SIGINT');
  expect(await demo?.ended).toEqual([0, null]);
});
afterEach(() => {
  expect(window.errors).toEqual([]);
  expect(window.failures).toEqual([]);
});

const step = (name: Step) => window.page.locator(`[data-step="${name}"]`);
const ticked = async (name: Step): Promise<boolean> =>
  (await step(name).getAttribute('data-done')) === 'true';

async function expectTick(name: Step): Promise<void> {
  await until(`step ${name} ticks`, () => ticked(name), { withinMs: 60_000 });
}

/** Returns to the first page as a person does. */
async function openFirst(): Promise<void> {
  await window.page.keyboard.press('g');
  await window.page.keyboard.press('o');
  await window.settled(consolePath('/'));
}

test('the printed address opens the first page, logged in, with steps that are to do', async () => {
  const [address = ''] = /http:\S+\/console\/#code=\S+/.exec(shown) ?? [];
  const since = performance.now();
  await window.page.goto(address);
  await window.settled(consolePath('/'));
  await step('minions').waitFor();
  process.stdout.write(
    `npm start: all printed ${Math.round(startMs)} ms after the start of a built checkout, ` +
      `the first page ${Math.round(performance.now() - since)} ms after its address\n`,
  );
  expect(new URL(window.page.url()).hash).toBe('');
  // Its minions and its test.ping are those of the command.
  await expectTick('minions');
  await expectTick('ping');
  for (const name of ['trace', 'why', 'own'] as const) expect(await ticked(name)).toBe(false);
});

test('a job of its button has its trace, which ticks its step', async () => {
  await step('ping').getByRole('button', { name: 'Run it on all minions' }).click();
  await step('ping').getByRole('link', { name: 'see who answers' }).click();
  const sentence = '2 targeted: 2 returned';
  await window.page.getByRole('main').getByRole('img', { name: sentence, exact: true }).waitFor();
  await openFirst();
  await step('trace').getByRole('link', { name: 'open its trace' }).click();
  await window.page.getByRole('grid', { name: 'Spans' }).waitFor();
  await openFirst();
  await expectTick('trace');
});

test('minion two stops by the printed command, and the page has the cause', async () => {
  const [, pid] = /Minion two stops by "kill (\d+)"/.exec(shown) ?? [];
  process.kill(Number(pid));
  await until('the command prints it', () => shown.includes('minion two.demo ended'));
  await step('ping').getByRole('button', { name: 'Run it on all minions' }).click();
  await step('why').getByRole('link', { name: 'ask why it did not answer' }).click();
  const main = window.page.getByRole('main');
  await main
    .getByRole('list', { name: /^Minions: / })
    .getByText('two.demo')
    .waitFor();
  await openFirst();
  await expectTick('why');
});

test('a minion of Salt connects by the three lines, and its accepted key is the last step', async () => {
  const lines = await step('own').locator('pre').innerText();
  const value = (name: string): string => new RegExp(`^${name}: (.+)$`, 'm').exec(lines)?.[1] ?? '';
  const id = value('id');
  const config = { master: JSON.parse(value('master')) as string };
  const home = await sandbox.minion(id, Number(value('master_port')), config);
  sandbox.startMinion(await saltVenv(newestOf('3008')), home);
  await step('own').getByRole('link', { name: 'accept its key' }).click();
  const { page } = window;
  await page.getByRole('grid', { name: 'Keys' }).getByRole('row').filter({ hasText: id }).waitFor();
  await page.getByRole('button', { name: 'Choose all 1' }).click();
  await page.getByRole('button', { name: 'Accept 1', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Accept 1', exact: true }).click();
  await dialog.getByText('1 accepted.').waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
  await openFirst();
  for (const name of STEPS) await expectTick(name);
  await page.getByRole('heading', { name: 'The first minute: 5 of 5' }).waitFor();
});

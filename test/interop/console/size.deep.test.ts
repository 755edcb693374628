// The console of a large fleet: ten tabs of one browser, while many events come.
import { sized } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PAGES } from '../../../apps/console/src/shell/pages.ts';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';
import { FLOWS } from './flows.ts';
import { keysOf, mouseOf } from './hands.ts';
import { LargeFleet } from './large-fleet.ts';

/** Minions: 20,000 by the environment. */
const MINIONS = Number(
  process.env['BRINE_CONSOLE_MINIONS'] ?? sized({ change: 500, release: 2_000 }),
);
/** More than a browser opens connections to one origin (6). */
const TABS = 10;
const ELEMENTS_MAX = 3_000;
/** Keys that are pressed on each page. */
const MOVES = ['j', 'j', 'k', 'End', 'Home'] as const;
const LIMIT_MS = 1_800_000;

let fleet: LargeFleet;
let browser: Browser;
const tabs: ConsoleWindow[] = [];

beforeAll(async () => {
  [fleet, browser] = [await LargeFleet.start(MINIONS), await startBrowser()];
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await fleet?.close();
});

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
    const first = await ConsoleWindow.open(browser);
    tabs.push(first);
    await first.logIn(fleet.master);
    const context = first.page.context();
    while (tabs.length < TABS) tabs.push(await ConsoleWindow.tabOf(context));
    await fleet.amidEvents(async () => {
      for (const tab of tabs) {
        await tab.page.goto(`${fleet.base}/console/jobs`);
        await tab.settled(consolePath('/jobs'));
      }
      for (const { page } of tabs) await page.getByText('● live', { exact: true }).waitFor();
      await fleet.pingAll();
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
    await fleet.amidEvents(async () => {
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

test.each([
  { by: 'by the mouse', handOf: mouseOf },
  { by: 'by keys', handOf: keysOf },
])(
  'all that an operator does is done $by',
  async ({ handOf }) => {
    const [tab] = tabs;
    if (tab === undefined) throw new Error('there is no tab');
    const hand = handOf(tab);
    await fleet.amidEvents(async () => {
      for (const { name, does } of FLOWS) {
        const since = performance.now();
        await does({ window: tab, hand, fleet, minions: MINIONS });
        process.stdout.write(
          `${hand.name}, ${name}: ${Math.round(performance.now() - since)} ms\n`,
        );
      }
    });
    await expectNothingWrong();
  },
  LIMIT_MS,
);

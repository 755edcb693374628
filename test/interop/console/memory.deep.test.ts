// What the console keeps while it follows many events: its heap and its nodes.
import { sized } from '@brine/testing/circle';
import { loadPauses } from '@brine/testing/waits';
import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';
import { LargeFleet } from './large-fleet.ts';

const MINIONS = Number(process.env['BRINE_CONSOLE_MINIONS'] ?? 100);
/** How long it follows: 3,600 shows a leak of a few MB. */
const HOLD_S = Number(process.env['BRINE_CONSOLE_HOLD_S'] ?? sized({ change: 20, release: 120 }));
/** Pages that are open beside each other, each in its tab. */
const PATHS = ['/events?follow=true', '/jobs', '/'] as const;
const SAMPLES = 60;
const SAMPLE_MIN_MS = 1_000;
const HEAP_MAX = 150e6;
const ELEMENTS_MAX = 3_000;
/** Growth of the heap from the begin to the end of an hour, as a share. */
const GROWTH_MAX = 0.05;
/** The caches of a page fill first: this share of the time is no growth. */
const WARM_SHARE = 0.1;
/** Below this a line through the samples shows the noise. */
const GROWTH_FROM_S = 1_800;
const LIMIT_MS = HOLD_S * 1_000 + 600_000;

interface Sample {
  readonly atS: number;
  readonly heap: number;
  readonly nodes: number;
}

let fleet: LargeFleet;
let browser: Browser;

beforeAll(async () => {
  [fleet, browser] = [await LargeFleet.start(MINIONS), await startBrowser()];
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await fleet?.close();
});

/** Events that are on their way when the heap is read differ by some MB: the least one counts. */
const READS = 5;

/** The heap without what could be freed, bytes. */
async function sampleOf(session: CDPSession, atS: number): Promise<Sample> {
  let heap = Infinity;
  for (let read = 0; read < READS; read += 1) {
    await session.send('HeapProfiler.collectGarbage');
    heap = Math.min(heap, (await session.send('Runtime.getHeapUsage')).usedSize);
  }
  const { nodes } = await session.send('Memory.getDOMCounters');
  return { atS, heap, nodes };
}

/** Growth over all the time by a line of least squares, as a share of where the line begins. */
function growthOf(samples: readonly Sample[]): number {
  const warm = samples.filter(({ atS }) => atS >= HOLD_S * WARM_SHARE);
  const middle = (of: (one: Sample) => number): number =>
    warm.reduce((sum, one) => sum + of(one), 0) / warm.length;
  const [atS, heap] = [middle((one) => one.atS), middle((one) => one.heap)];
  const slope =
    middle((one) => (one.atS - atS) * (one.heap - heap)) / middle((one) => (one.atS - atS) ** 2);
  const begin = heap + slope * (HOLD_S * WARM_SHARE - atS);
  return (slope * HOLD_S * (1 - WARM_SHARE)) / begin;
}

test(
  `tabs that follow 500 events a second for ${HOLD_S} s keep a small heap`,
  async () => {
    const tabs = [await ConsoleWindow.open(browser)];
    await tabs[0]?.logIn(fleet.master);
    const context = tabs[0]?.page.context();
    while (context !== undefined && tabs.length < PATHS.length) {
      tabs.push(await ConsoleWindow.tabOf(context));
    }
    const sessions: CDPSession[] = [];
    for (const [at, tab] of tabs.entries()) {
      const path = consolePath(PATHS[at] ?? '');
      await tab.page.goto(`${fleet.base}${path}`);
      await tab.settled(path.split('?', 1)[0]);
      const session = await tab.page.context().newCDPSession(tab.page);
      await session.send('HeapProfiler.enable');
      sessions.push(session);
    }
    const samples = sessions.map((): Sample[] => []);
    await fleet.amidEvents(async () => {
      const since = performance.now();
      const atS = (): number => (performance.now() - since) / 1_000;
      while (atS() < HOLD_S) {
        await fleet.pingAll();
        for (const [at, session] of sessions.entries()) {
          const sample = await sampleOf(session, atS());
          samples[at]?.push(sample);
          process.stdout.write(`${PATHS[at]} ${JSON.stringify(sample)}\n`);
        }
        await loadPauses(Math.max(SAMPLE_MIN_MS, (HOLD_S * 1_000) / SAMPLES));
      }
      for (const { page } of tabs) await page.getByText('● live', { exact: true }).waitFor();
      // It followed to the end.
      await tabs[0]?.page.getByText(/, [\d,]+ earlier ones made room$/).waitFor();
    });
    const figures = PATHS.map((path, at) => ({
      path,
      mostMb: Math.max(...(samples[at] ?? []).map(({ heap }) => heap)) / 1e6,
      growth: growthOf(samples[at] ?? []),
    }));
    process.stdout.write(`${JSON.stringify({ seconds: HOLD_S, fired: fleet.fired, figures })}\n`);
    for (const { path, mostMb, growth } of figures) {
      expect(mostMb * 1e6, path).toBeLessThanOrEqual(HEAP_MAX);
      if (HOLD_S >= GROWTH_FROM_S) expect(growth, path).toBeLessThan(GROWTH_MAX);
    }
    for (const [at, tab] of tabs.entries()) {
      expect(tab.errors, PATHS[at]).toEqual([]);
      expect(tab.failures, PATHS[at]).toEqual([]);
      expect(await tab.elements(), PATHS[at]).toBeLessThanOrEqual(ELEMENTS_MAX);
    }
  },
  LIMIT_MS,
);

import type { BrineMaster } from '@brine/testing';
import { chromiumProgram } from '@brine/testing/browser';
import { until } from '@brine/testing/waits';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** On a busy machine things are slow, but not slower than this. */
const PATIENCE_MS = 60_000;
/** A page that is left cancels what it asked: that is no failure. */
const CANCELLED = 'net::ERR_ABORTED';

/** The shortest that browsers report. */
const INTERACTION_MIN_MS = 16;

/** Runs in each page before its scripts: breaches of the policy become errors of the console. */
const WATCH = `
  document.addEventListener('securitypolicyviolation', (event) => {
    console.error('policy', event.violatedDirective, event.blockedURI, event.sample);
  });
  globalThis.figures = { lcpMs: 0, longestMs: 0, interactions: {} };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) figures.lcpMs = entry.startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      figures.longestMs = Math.max(figures.longestMs, duration);
    }
  }).observe({ type: 'longtask', buffered: true });
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) {
      if (interactionId === 0) continue;
      const before = figures.interactions[interactionId] ?? 0;
      figures.interactions[interactionId] = Math.max(before, duration);
    }
  }).observe({ type: 'event', durationThreshold: ${INTERACTION_MIN_MS}, buffered: true });
`;

/** The path of a page in its address. */
export function consolePath(path: string): string {
  return `/console${path}`;
}

/** Starts Debian's Chromium. */
export async function startBrowser(): Promise<Browser> {
  const { path, env } = await chromiumProgram();
  return chromium.launch({
    executablePath: path,
    env: { ...process.env, ...env },
    args: ['--no-sandbox'],
  });
}

/** What a page has cost so far. Times depend on the machine, and are for people. */
export interface Figures {
  readonly fcpMs: number;
  readonly lcpMs: number;
  readonly longestTaskMs: number;
  /** From a key or a click to what it shows (INP), of the slowest; those below 16 ms count none. */
  readonly slowestInteractionMs: number;
  /** Elements in the page. */
  readonly elements: number;
  /** Bytes of scripts, as they were sent. */
  readonly scriptBytes: number;
}

/** What the page itself has measured, see {@link WATCH}. */
interface Measured {
  readonly lcpMs: number;
  readonly longestMs: number;
  readonly interactions: Readonly<Record<string, number>>;
}

/** A window of a browser, and all that goes wrong in it. */
export class ConsoleWindow {
  readonly page: Page;
  /** Errors of scripts and lines about errors; breaches of the policy are among them. */
  readonly errors: string[] = [];
  /** Requests without an answer, and answers that are errors. */
  readonly failures: string[] = [];
  readonly urls: string[] = [];
  /** Headers in which an address could be passed on. */
  readonly referers: string[] = [];
  readonly #scripts: Promise<number>[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
    page.on('pageerror', ({ message }) => void this.errors.push(message));
    page.on('request', (request) => {
      this.urls.push(request.url());
      const { referer } = request.headers();
      // `no-referrer` leaves it empty.
      if (referer !== undefined && referer !== '') this.referers.push(referer);
    });
    page.on('requestfailed', (request) => {
      const { errorText = '' } = request.failure() ?? {};
      if (errorText !== CANCELLED) this.failures.push(`${errorText} ${request.url()}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) this.failures.push(`${response.status()} ${response.url()}`);
    });
    page.on('requestfinished', (request) => {
      if (request.resourceType() !== 'script') return;
      this.#scripts.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
  }

  /** A window without the cookies of others. */
  static async open(browser: Browser, options: BrowserContextOptions = {}): Promise<ConsoleWindow> {
    const context = await browser.newContext(options);
    await context.addInitScript({ content: WATCH });
    return ConsoleWindow.tabOf(context);
  }

  /** One more tab of a window. */
  static async tabOf(context: BrowserContext): Promise<ConsoleWindow> {
    return new ConsoleWindow(await context.newPage());
  }

  /** Waits until the page of the address is there with all that it first asked for. */
  async settled(path?: string): Promise<void> {
    const { page } = this;
    if (path !== undefined) {
      await until(`the page ${path} is open`, () => new URL(page.url()).pathname === path);
    }
    // It is there before it is open in a narrow window, and not before a log-in.
    await page.locator('nav').waitFor({ state: 'attached' });
    await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
    await until(
      `all of ${page.url()} has come`,
      async () => (await page.getByRole('status', { name: 'Loading' }).count()) === 0,
    );
  }

  /** Logs in by an address of `brine console`, or at another port, and waits for the pages. */
  async logIn(master: BrineMaster, port?: number): Promise<void> {
    const { code, stdout, stderr } = await master.brine('console', []);
    if (code !== 0) throw new Error(`brine console: ${stderr}`);
    const address = new URL(stdout.trim());
    if (port !== undefined) address.port = String(port);
    await this.page.goto(address.href);
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await this.settled();
  }

  /** Opens a page by its item in the menu. */
  async openByMenu(entry: { readonly path: string; readonly name: string }) {
    const menu = this.page.getByRole('navigation', { name: 'Pages' });
    // Its keys are in the item too.
    await menu.getByRole('link', { name: new RegExp(`^${entry.name}\\b`) }).click();
    await this.arrived(entry);
  }

  /** Waits until a page of the menu is there: the one before stays until then. */
  async arrived({ path, name }: { readonly path: string; readonly name: string }) {
    await this.page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    await this.settled(consolePath(path));
  }

  /** Opens each tab of the page that is open, and calls `seen` at each. */
  async pressTabs(seen: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const tabs = this.page.getByRole('main').getByRole('tab');
    for (let at = 0; at < (await tabs.count()); at += 1) {
      const tab = tabs.nth(at);
      if (await tab.isDisabled()) continue;
      await tab.click();
      await until(
        `tab ${at} is open`,
        async () => (await tab.getAttribute('aria-selected')) === 'true',
      );
      await this.settled();
      await seen();
    }
  }

  /** How many elements are in the page. */
  elements(): Promise<number> {
    return this.page.evaluate<number>('document.querySelectorAll("*").length');
  }

  /** What this tab has cost since its address was opened. */
  async figures(): Promise<Figures> {
    const { lcpMs, longestMs, interactions } = await this.page.evaluate<Measured>('figures');
    const fcpMs = await this.page.evaluate<number>(
      'performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0',
    );
    const sizes = await Promise.all(this.#scripts);
    return {
      fcpMs: Math.round(fcpMs),
      lcpMs: Math.round(lcpMs),
      longestTaskMs: Math.round(longestMs),
      slowestInteractionMs: Math.round(Math.max(0, ...Object.values(interactions))),
      elements: await this.elements(),
      scriptBytes: sizes.reduce((sum, one) => sum + one, 0),
    };
  }

  /** Closes the window with all its tabs. */
  close(): Promise<void> {
    return this.page.context().close();
  }
}

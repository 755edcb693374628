import { until } from '@brine/testing/waits';
import type { Browser, Locator, Page, Response } from 'playwright-core';

/** On a busy machine things are slow, but not slower than this. */
const PATIENCE_MS = 60_000;
const ONCE_MS = 3_000;
const PLAY = '⯈';
const ELLIPSIS = '…';
/** Before the chosen ones of a menu. */
const MARKS = '●✔';
/** How SaltGUI and the browser show an answer of 401 in the console. */
const REFUSED =
  /^(?:Failed to load resource: .* 401 \(Unauthorized\)$|(?:HTTPError: )?Unauthorized\b)/;

/** What is read of an element of a page, in the browser. */
interface Element {
  readonly id: string;
  readonly classList: { contains(name: string): boolean };
}

/** SaltGUI in a browser, with what goes wrong in it. */
export class SaltGui {
  readonly #page: Page;
  readonly #problems: string[] = [];
  readonly #refused = new Set<string>();
  readonly #seen = new Set(['login']);

  private constructor(page: Page) {
    this.#page = page;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('console', (message) => {
      if (message.type() === 'error') this.#note(message.text());
    });
    page.on('pageerror', (error) => this.#note(error.message, error.stack));
    page.on('response', (response) => {
      if (response.status() === 401) this.#refused.add(callOf(response));
    });
  }

  /** Opens it in a window of its own, without cookies of others. */
  static async open(browser: Browser, url: string): Promise<SaltGui> {
    const context = await browser.newContext();
    const gui = new SaltGui(await context.newPage());
    await gui.#page.goto(url);
    return gui;
  }

  #note(text: string, stack = ''): void {
    if (!REFUSED.test(text)) this.#problems.push(`${this.#page.url()}: ${text}\n${stack}`);
  }

  /** Errors of the page and of its console so far, but for answers of 401. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Calls that were answered with 401 so far, each once. */
  get refused(): readonly string[] {
    return [...this.#refused].sort();
  }

  /** The names of all pages that its router knows. */
  pages(): Promise<readonly string[]> {
    return this.#page
      .locator('#route-container > .route')
      .evaluateAll((routes: readonly Element[]) =>
        routes.map(({ id }) => id.replace(/^page-/, '')),
      );
  }

  /** The items of its menu: those that are shown, and those that are hidden. */
  async menu(): Promise<{ readonly shown: readonly string[]; readonly hidden: readonly string[] }> {
    const items = await this.#page
      .locator('.fullmenu .menu-item')
      .evaluateAll((all: readonly Element[]) =>
        all.map(({ id, classList }) => ({
          name: id.replace(/^button-(.*)1$/, '$1'),
          isHidden: classList.contains('menu-item-hidden'),
        })),
      );
    const names = (hidden: boolean): string[] =>
      items.filter(({ isHidden }) => isHidden === hidden).map(({ name }) => name);
    return { shown: names(false), hidden: names(true) };
  }

  /** Logs in by its form. */
  async logIn(user: string, password: string): Promise<void> {
    const form = this.#page.locator('#page-login');
    await form.locator('select').selectOption('sharedsecret');
    await form.locator('#username').fill(user);
    await form.locator('#password').fill(password);
    await form.locator('#login-button').click();
    await this.shows('minions', []);
  }

  /** Logs out by the menu. */
  async logOut(): Promise<void> {
    await this.open('logout');
    await this.shows('login', ['Logout']);
  }

  /** Opens a page by the menu. */
  async open(name: string): Promise<void> {
    const item = this.#page.locator(`#button-${name}1`);
    await this.#page.locator('.fullmenu > .dropdown').filter({ has: item }).hover();
    await item.click();
    await this.#pointAway();
  }

  /** Opens the page of options, which is not in the menu. */
  async openOptions(): Promise<void> {
    await this.#page.locator('#logo').click({ modifiers: ['Control'] });
    await this.#pointAway();
  }

  /** Rows of a page with this text. */
  row(page: string, text: string | RegExp): Locator {
    return this.#page.locator(`#page-${page} #${page}-panel tbody > tr`).filter({ hasText: text });
  }

  /** Waits until the page is shown with all of these texts. */
  async shows(page: string, texts: readonly string[]): Promise<void> {
    await this.#settled(page);
    const shown = this.#page.locator(`#page-${page}`);
    for (const text of texts) {
      await until(`page ${page} shows ${text}`, async () =>
        (await shown.innerText()).replaceAll('\u00a0', ' ').includes(text),
      );
    }
  }

  /** SaltGUI hides a page half a second after it was left, also where it is shown again by then. */
  async #settled(page: string): Promise<void> {
    this.#seen.add(page);
    await until(`page ${page} alone is shown`, async () => {
      const shown = this.#page.locator('#route-container > .route:visible');
      const ids = await shown.evaluateAll((routes: readonly Element[]) =>
        routes.map(({ id }) => id),
      );
      // Those that were never shown are transparent instead.
      const seen = ids.map((id) => id.replace(/^page-/, '')).filter((name) => this.#seen.has(name));
      return seen.join() === page && (await this.#current()) === page;
    });
  }

  /**
   * Opens the menus of a panel of the shown page, and presses each item once. Gives the items.
   * @param texts what the page shows when its data is here
   */
  async pressMenus(
    page: string,
    texts: readonly string[],
    panel = page,
  ): Promise<readonly string[]> {
    const part = `#page-${page} #${panel}-panel`;
    const pressed = new Set<string>();
    for (;;) {
      await this.shows(page, texts);
      // Rows are made again as data comes, so a menu is found by its items.
      const items = await this.#items(part).allTextContents();
      const next = items.map(nameOf).find((name) => !pressed.has(name));
      if (next === undefined) return [...pressed];
      pressed.add(next);
      await this.press(part, next);
      await this.#leave(page, next);
    }
  }

  /** Presses an item of a menu in a part of the page. */
  async press(part: string | Locator, name: string): Promise<void> {
    const letters = [...name].map((letter) =>
      letter === ' ' ? '\\s' : letter.replace(/[.*+?^${}()|[\]\\]/, '\\$&'),
    );
    const item = this.#items(part)
      .filter({ hasText: new RegExp(`^(?:[${MARKS}]\\s)?${letters.join('')}$`) })
      .first();
    // A row that is made again closes its menu.
    const once = { timeout: ONCE_MS };
    await until(
      `${name} is pressed`,
      async () => {
        await item.locator('xpath=../preceding-sibling::*[1]').hover(once);
        await item.click(once);
        return true;
      },
      { withinMs: PATIENCE_MS },
    );
    await this.#pointAway();
  }

  /** Items of the menus that have a button now, without those that do not apply. */
  #items(part: string | Locator): Locator {
    const from = typeof part === 'string' ? this.#page.locator(part) : part;
    return from.locator(
      '.menu-dropdown:visible + .menu-dropdown-content > .run-command-button:not([style*="none"])',
    );
  }

  /** An open menu covers those below. */
  #pointAway(): Promise<void> {
    return this.#page.mouse.move(0, 0);
  }

  async #current(): Promise<string> {
    const id = await this.#page.locator('#route-container > .route.current').getAttribute('id');
    return (id ?? '').replace(/^page-/, '');
  }

  /** Undoes what an item has opened: the command box, or another page. */
  async #leave(page: string, item: string): Promise<void> {
    const box = this.#page.locator('#popup-run-command');
    if (await box.isVisible()) {
      const command = await box.locator('#command').inputValue();
      if (command === '') throw new Error(`${page}: ${item} gives no command`);
      await this.closeBox();
    } else if (item.endsWith(ELLIPSIS)) {
      throw new Error(`${page}: ${item} opens no command box`);
    }
    if (new URL(this.#page.url()).hash !== `#${page}`) {
      await this.#settled(await this.#current());
      await this.#page.goBack();
    }
  }

  /** Runs a command in the command box. Resolves when its output has all of these texts. */
  async run(target: string, command: string, texts: readonly string[]): Promise<void> {
    await this.#page.locator('#button-manual-run').click();
    await this.#page.locator('#target').fill(target);
    await this.#page.locator('#command').fill(command);
    await this.runShown(texts);
    await this.closeBox();
  }

  /** Runs the command that is in the command box. Resolves when its output has these texts. */
  async runShown(texts: readonly string[]): Promise<void> {
    await this.#page.locator('#run-command').click();
    const output = this.#page.locator('#popup-run-command pre');
    for (const text of texts) await output.filter({ hasText: text }).waitFor();
  }

  /** Closes the command box. */
  async closeBox(): Promise<void> {
    await this.#page.locator('#cmd-close-button').click();
  }

  /** Begins a command without waiting for it. Resolves when events have shown all minions' ends. */
  async runAsync(target: string, command: string, minions: readonly string[]): Promise<void> {
    const box = this.#page.locator('#popup-run-command');
    await this.#page.locator('#button-manual-run').click();
    await this.press('#run-block', 'Async');
    await this.#page.locator('#target').fill(target);
    await this.#page.locator('#command').fill(command);
    await this.#page.locator('#run-command').click();
    for (const id of minions) {
      await box.locator('pre .host-success').filter({ hasText: id }).waitFor();
    }
    await this.press('#run-block', 'Normal');
    await this.closeBox();
  }

  /** Has the page of events show them. */
  async play(): Promise<void> {
    await this.#page.locator('#events-panel > span:visible').filter({ hasText: PLAY }).click();
  }

  /** Shows only rows of a page with this text, by its search. */
  async search(page: string, text: string): Promise<void> {
    const panel = this.#page.locator(`#${page}-panel`);
    await panel.locator('.search-button').click();
    await panel.locator('.search-box input').fill(text);
  }

  /** Closes its window. */
  close(): Promise<void> {
    return this.#page.context().close();
  }
}

/** The name of an item, without the mark of a chosen one. */
function nameOf(text: string): string {
  return text.replaceAll(/\s/g, ' ').replace(new RegExp(`^[${MARKS}] `), '');
}

/** The function of a call, or the address. */
function callOf(response: Response): string {
  const request = response.request();
  const { client, fun } = (request.postDataJSON() ?? {}) as { client?: string; fun?: string };
  if (client !== undefined && fun !== undefined) return `${client} ${fun}`;
  return `${request.method()} ${new URL(response.url()).pathname}`;
}

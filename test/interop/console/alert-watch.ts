import type { Page } from 'playwright-core';

/** Keeps the text of each alert, and of each panel that is stale, that one frame shows. */
const WATCH = `
  globalThis.alerts = new Set();
  const look = () => {
    requestAnimationFrame(look);
    for (const one of document.querySelectorAll('[role="alert"], [role="status"]:has(button)')) {
      if (alerts.size < 1_000) alerts.add(one.textContent);
    }
  };
  requestAnimationFrame(look);
`;

/** All that one tab shows in alerts, also for a moment. */
export class AlertWatch {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  /** Begins; it ends with the document. */
  static async begin(page: Page): Promise<AlertWatch> {
    await page.evaluate(WATCH);
    return new AlertWatch(page);
  }

  /** Each text once. */
  texts(): Promise<readonly string[]> {
    return this.#page.evaluate<readonly string[]>('[...alerts]');
  }
}

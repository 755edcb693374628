import type { Page } from 'playwright-core';

/** The states of a minion in a job, in the order of the bar. */
export const LEDGER_STATES = ['returned', 'failed', 'late', 'waiting', 'never'] as const;

type Numbers = Readonly<Record<(typeof LEDGER_STATES)[number], number>>;

/** A ledger as it was drawn. */
export interface LedgerFrame {
  readonly jid: string;
  readonly numbers: Numbers;
  readonly targeted: number;
  /** The same as the sentence of the bar has it. */
  readonly sentence: Numbers & { readonly targeted: number };
}

/** What the script in the page has kept. */
interface Drawn {
  readonly frames: number;
  readonly seen: readonly {
    readonly path: string;
    readonly sentence: string;
    readonly numbers: Readonly<Record<string, string>>;
    readonly targeted: string;
  }[];
}

/** Frames with other numbers than the one before: many times those of a long job. */
const SEEN_MAX = 100_000;

/** Reads the ledger of a job's page at each frame, and keeps it where it differs. */
const READ = `
  globalThis.ledgers = { frames: 0, seen: [] };
  let last = '';
  const read = () => {
    requestAnimationFrame(read);
    ledgers.frames += 1;
    const bar = document.querySelector('main [role="img"][aria-label*=" targeted"]');
    const list = document.querySelector('main ul:has(> li[data-state])');
    if (bar === null || list === null || ledgers.seen.length >= ${SEEN_MAX}) return;
    const numbers = {};
    let targeted = '';
    for (const { dataset } of list.children) {
      if (dataset.state === undefined) targeted = dataset.count;
      else numbers[dataset.state] = dataset.count;
    }
    const sentence = bar.getAttribute('aria-label');
    const now = { path: location.pathname, sentence, numbers, targeted };
    const text = JSON.stringify(now);
    if (text !== last) ledgers.seen.push(now);
    last = text;
  };
  requestAnimationFrame(read);
`;

/** The ledgers that one tab draws, at each of its frames. */
export class LedgerFrames {
  readonly #page: Page;

  private constructor(page: Page) {
    this.#page = page;
  }

  /** Begins; it ends with the document. */
  static async begin(page: Page): Promise<LedgerFrames> {
    await page.evaluate(READ);
    return new LedgerFrames(page);
  }

  /** The ledgers of the page of a job, each that differs from the one before. */
  async of(jid: string): Promise<readonly LedgerFrame[]> {
    const { seen } = await this.#drawn();
    return seen
      .filter(({ path }) => path.endsWith(`/jobs/${jid}`))
      .map(({ sentence, numbers, targeted }) => ({
        jid,
        numbers: Object.fromEntries(
          LEDGER_STATES.map((state) => [state, Number(numbers[state])]),
        ) as Numbers,
        targeted: Number(targeted),
        sentence: inSentence(sentence),
      }));
  }

  /** Frames that were drawn since the begin. */
  async count(): Promise<number> {
    const { frames, seen } = await this.#drawn();
    if (seen.length >= SEEN_MAX) throw new Error('more ledgers than are kept');
    return frames;
  }

  #drawn(): Promise<Drawn> {
    return this.#page.evaluate<Drawn>('ledgers');
  }
}

/** The numbers of "1,000 targeted: 600 returned, 1 failed, 399 waiting". */
function inSentence(sentence: string): LedgerFrame['sentence'] {
  const numberOf = (word: string): number => {
    const found = new RegExp(`([\\d,]+) ${word}\\b`).exec(sentence)?.[1] ?? '0';
    return Number(found.replaceAll(',', ''));
  };
  return {
    targeted: numberOf('targeted'),
    // A minion that never returned is not one that returned.
    returned: numberOf('returned'),
    failed: numberOf('failed'),
    late: numberOf('late'),
    waiting: numberOf('waiting'),
    never: numberOf('never returned'),
  };
}

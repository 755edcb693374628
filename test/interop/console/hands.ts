import { until } from '@brine/testing/waits';
import type { Locator, Page } from 'playwright-core';
import type { ConsoleWindow } from './console-window.ts';

/** Presses of Tab after which a part of a page is out of reach. */
const TABS_MAX = 150;
/** Presses of an arrow within one part: a menu, tabs, choices, rows. */
const ARROWS_MAX = 40;

/** A page of the menu. */
interface Entry {
  readonly path: string;
  readonly name: string;
  readonly key: string;
}

/** How a person does something. */
export interface Hand {
  readonly name: string;
  /** Opens a page of the menu. */
  readonly go: (entry: Entry) => Promise<void>;
  /** Presses a button, a link, a tab, a choice, an item of a menu. */
  readonly press: (target: Locator) => Promise<void>;
  /** Writes in a field, instead of what is there. */
  readonly type: (field: Locator, text: string) => Promise<void>;
  /** Takes one of a list of choices that the browser draws. */
  readonly take: (field: Locator, choice: string) => Promise<void>;
  /** Opens a row of a grid. */
  readonly open: (row: Locator) => Promise<void>;
  /** Chooses a row of a grid. */
  readonly choose: (row: Locator) => Promise<void>;
  /** Opens the palette, and the first that it finds. */
  readonly find: (text: string, found: string) => Promise<void>;
  /** Closes what is open in front of the page. */
  readonly leave: (dialog: Locator) => Promise<void>;
}

/** A field with the focus that takes letters. */
const WRITTEN = ':is(input:not([type=checkbox], [type=radio]), select, textarea):focus';

const search = (page: Page): Locator => page.getByRole('textbox', { name: 'Search' });

/** The first that the palette has found is this one. */
async function untilFound(page: Page, found: string): Promise<Locator> {
  const [first, dialog] = [page.getByRole('dialog').getByRole('button').first(), search(page)];
  await dialog.waitFor();
  await until(`${found} is found`, async () => {
    const text = await first.innerText();
    return text.startsWith(found) || Promise.reject(new Error(text));
  });
  return first;
}

/** A person with a mouse. Texts are typed all the same. */
export function mouseOf(window: ConsoleWindow): Hand {
  const { page } = window;
  return {
    name: 'by the mouse',
    go: (entry) => window.openByMenu(entry),
    press: async (target) => (await seenOf(target)).click(),
    type: (field, text) => field.fill(text),
    take: async (field, choice) => void (await field.selectOption({ label: choice })),
    open: (row) => row.dblclick(),
    choose: (row) => row.getByRole('checkbox').click(),
    find: async (text, found) => {
      await page.getByRole('button', { name: /^Search/ }).click();
      await search(page).fill(text);
      await (await untilFound(page, found)).click();
      await search(page).waitFor({ state: 'hidden' });
    },
    leave: (dialog) => dialog.getByRole('banner').getByRole('button').click(),
  };
}

/** What one sees of a choice is its label. */
async function seenOf(target: Locator): Promise<Locator> {
  await target.waitFor({ state: 'attached' });
  if (!/^(radio|switch)$/.test(await roleOf(target))) return target;
  return target
    .page()
    .locator(`label[for="${await target.getAttribute('id')}"]`)
    .first();
}

/** A person with keys alone. */
export function keysOf(window: ConsoleWindow): Hand {
  const { page } = window;
  const press = (key: string): Promise<void> => page.keyboard.press(key);
  const press1 = async (target: Locator): Promise<void> => {
    await reach(page, target);
    // Tabs and radios are chosen by the arrows that reach them.
    if (!/^(tab|radio)$/.test(await roleOf(target))) await press(await keyOf(target));
  };
  return {
    name: 'by keys',
    go: async (entry) => {
      // A letter in a field is no key of the page.
      if (await page.locator(WRITTEN).count()) await press('Tab');
      await press('g');
      await press(entry.key);
      await window.arrived(entry);
    },
    press: press1,
    type: async (field, text) => {
      await reach(page, field);
      await press('ControlOrMeta+a');
      if (text === '') await press('Delete');
      else await page.keyboard.type(text);
    },
    take: async (field, choice) => {
      await reach(page, field);
      await page.keyboard.type(choice);
    },
    open: async (row) => {
      await reach(page, row);
      await press('Enter');
    },
    choose: async (row) => {
      await reach(page, row);
      await press('x');
    },
    find: async (text, found) => {
      await press('ControlOrMeta+k');
      await search(page).waitFor();
      await page.keyboard.type(text);
      await untilFound(page, found);
      await press('Enter');
      await search(page).waitFor({ state: 'hidden' });
    },
    leave: async (dialog) => {
      await press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    },
  };
}

const isFocused = async (page: Page, target: Locator): Promise<boolean> =>
  (await target.and(page.locator(':focus')).count()) > 0;

async function roleOf(target: Locator): Promise<string> {
  const given = await target.getAttribute('role');
  return given ?? (await target.getAttribute('type')) ?? '';
}

/** What presses a part: a checkbox takes Space alone. */
async function keyOf(target: Locator): Promise<string> {
  return /^(checkbox|switch)$/.test(await roleOf(target)) ? 'Space' : 'Enter';
}

/** What has the focus of a part with arrows, and the arrow that moves on in it. */
const PARTS: Readonly<Record<string, readonly [entry: string, arrow: string]>> = {
  tab: ['[role=tab][tabindex="0"]', 'ArrowRight'],
  radio: ['[type=radio]:checked', 'ArrowRight'],
  menuitem: ['[role=menuitem]', 'ArrowDown'],
  menuitemcheckbox: ['[role=menuitemcheckbox]', 'ArrowDown'],
  row: ['[role=row][tabindex="0"]', 'ArrowDown'],
};

/** Gives a part of the page the focus: by Tab, then by the arrows of what it is in. */
async function reach(page: Page, target: Locator): Promise<void> {
  await target.waitFor({ state: 'attached' });
  const part = PARTS[await roleOf(target)];
  if (part === undefined) {
    await press(page, 'Tab', target, TABS_MAX);
    return;
  }
  const [entry, arrow] = part;
  const around = target.locator(
    'xpath=ancestor::*[@role="tablist" or @role="radiogroup" or @role="menu" or @role="grid"][1]',
  );
  const isWithin = async (): Promise<boolean> => (await around.locator(':focus').count()) > 0;
  // A menu that opens takes the focus by itself.
  if (!(await isWithin()) && !arrow.endsWith('Down')) {
    await press(page, 'Tab', around.locator(entry), TABS_MAX);
  } else if (!(await isWithin())) {
    await press(page, 'Tab', around.locator(entry).first(), TABS_MAX);
  }
  await press(page, arrow, target, ARROWS_MAX);
}

async function press(page: Page, key: string, target: Locator, most: number): Promise<void> {
  for (let n = 0; n <= most; n += 1) {
    if (await isFocused(page, target)) return;
    await page.keyboard.press(key);
  }
  const at = await page.evaluate<string>('document.activeElement.outerHTML.slice(0, 200)');
  throw new Error(`${key} does not reach ${String(target)}; the focus is at ${at}`);
}

// Logging in to the console in Chromium, with a whole master.
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ConsoleWindow, startBrowser } from './console-window.ts';

const PASSWORD = 'a-password-of-the-site';

let master: BrineMaster;
let browser: Browser;
let base = '';

const open = new Set<ConsoleWindow>();

async function newWindow(): Promise<ConsoleWindow> {
  const window = await ConsoleWindow.open(browser);
  open.add(window);
  return window;
}

async function newAddress(): Promise<{ readonly address: string; readonly code: string }> {
  const { code: exit, stdout } = await master.brine('console', []);
  expect(exit).toBe(0);
  const address = stdout.trim();
  return { address, code: address.slice(address.indexOf('#code=') + '#code='.length) };
}

const message = (page: Page) => page.getByRole('alert');
/** The menu of the user who is logged in. */
const userMenu = (page: Page, user: string) =>
  page.getByRole('button', { name: user, exact: true });

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: { alice: ['test.*'] }, pam: { bob: ['test.*'] } },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    brine: { http: { port } },
  });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await master?.close();
});
// Whatever a test does: no request leaves the origin, and no address has a code.
afterEach(async () => {
  for (const window of open) {
    const { urls, referers } = window;
    expect(urls.filter((url) => new URL(url).origin !== base && !url.startsWith('data:'))).toEqual(
      [],
    );
    expect(referers).toEqual([]);
    await window.close();
  }
  open.clear();
});

/** Errors but those of answers that a test expects. */
function oddErrors({ errors }: ConsoleWindow, expected = 0): readonly string[] {
  const refused = /^Failed to load resource: .* 401 \(Unauthorized\)$/;
  expect(errors.filter((text) => refused.test(text))).toHaveLength(expected);
  return errors.filter((text) => !refused.test(text));
}

test('a code logs in, and is nowhere in the address any more', async () => {
  const window = await newWindow();
  const { page, urls } = window;
  const { address, code } = await newAddress();
  await page.goto(address);
  await userMenu(page, 'root').click();
  await page.getByText('Logged in by local key').waitFor();
  expect(page.url()).toBe(`${base}/console/`);
  expect(await page.evaluate('location.hash + document.referrer')).toBe('');
  expect(await page.content()).not.toContain(code);
  expect(urls.filter((url) => url.includes(code) && !url.includes('#code='))).toEqual([]);
  // The cookie is for no script.
  expect(await page.evaluate('document.cookie')).toBe('');
  // A second look needs no code.
  await page.goto(`${base}/`);
  await userMenu(page, 'root').waitFor();
  expect(page.url()).toBe(`${base}/console/`);
  expect(oddErrors(window)).toEqual([]);

  const other = await newWindow();
  await other.page.goto(address);
  await until('it is refused', async () =>
    ((await message(other.page).textContent()) ?? '').startsWith('This code is not valid.'),
  );
  expect(other.page.url()).toBe(`${base}/console/`);
  expect(await other.page.getByLabel('User').isVisible()).toBe(true);
  expect(oddErrors(other, 1)).toEqual([]);
});

test('who is logged in is asked before a code makes another of them', async () => {
  const window = await newWindow();
  const { page } = window;
  await page.goto(base);
  await page.getByLabel('User').fill('alice');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Log-in module').selectOption('sharedsecret');
  await page.getByRole('button', { name: 'Log in' }).click();
  await userMenu(page, 'alice').waitFor();
  const { address } = await newAddress();
  // In this very tab nothing is loaded: the address differs in its fragment alone.
  await page.goto(address);
  const question = page.getByRole('heading', { name: 'Log in with the code?' });
  await question.waitFor();
  expect(page.url()).toBe(`${base}/console/`);
  await page.getByRole('button', { name: 'Stay logged in' }).click();
  await userMenu(page, 'alice').waitFor();
  await page.goto(address);
  await question.waitFor();
  await page.getByRole('button', { name: 'Use the code' }).click();
  await userMenu(page, 'root').waitFor();
  expect(oddErrors(window)).toEqual([]);
});

test('a user logs in by the keyboard, sees a wrong password named, and logs out', async () => {
  const window = await newWindow();
  const { page } = window;
  await page.goto(base, { waitUntil: 'networkidle' });
  await page.getByLabel('User').waitFor();
  const modules = page.getByLabel('Log-in module').locator('option');
  expect(await modules.allTextContents()).toEqual(['pam', 'sharedsecret']);
  await page.keyboard.press('Tab');
  await page.keyboard.type('alice');
  await page.keyboard.press('Tab');
  await page.keyboard.type('wrong');
  await page.keyboard.press('Tab');
  await page.keyboard.type('shared');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await until('the message is there', async () =>
    ((await message(page).textContent()) ?? '').includes('password'),
  );
  await until(
    'the password is asked for again',
    async () => (await page.evaluate('document.activeElement.name')) === 'password',
  );
  expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await userMenu(page, 'alice').click();
  expect(await message(page).count()).toBe(0);
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.getByLabel('Log-in module').waitFor();
  expect(await page.context().cookies()).toEqual([]);
  await page.reload();
  await page.getByLabel('Log-in module').waitFor();
  expect(oddErrors(window, 1)).toEqual([]);
});

test('text from outside is text: nothing in an address becomes a part of the page', async () => {
  const window = await newWindow();
  const { page } = window;
  const evil = encodeURIComponent('<img src=x onerror=alert(1)>');
  await page.goto(`${base}/console/?a=${evil}#code=${evil}`);
  await until('it is refused', async () =>
    ((await message(page).textContent()) ?? '').startsWith('This code is not valid.'),
  );
  expect(await page.locator('img').count()).toBe(0);
  // What the policy of the page stops: a script and a style of an attacker.
  const inline = await page.evaluate(`(() => {
    try {
      const script = document.createElement('script');
      script.textContent = 'window.evil = true';
      document.body.append(script);
    } catch {
      // The policy may refuse it here, or leave it without effect: the value tells.
    }
    return window.evil === true;
  })()`);
  expect(inline).toBe(false);
  expect(window.errors.some((text) => /Content Security Policy|Trusted/i.test(text))).toBe(true);
});

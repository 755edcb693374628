// What an operator does in the console, each from the menu to its end.
import { until } from '@brine/testing/waits';
import type { Locator, Page } from 'playwright-core';
import { PAGES } from '../../../apps/console/src/shell/pages.ts';
import { consolePath, type ConsoleWindow } from './console-window.ts';
import type { Hand } from './hands.ts';
import type { LargeFleet } from './large-fleet.ts';

/** Above this one types the number of minions. */
const TYPED_ABOVE = 100;

/** Who does it, where. */
export interface Scene {
  readonly window: ConsoleWindow;
  readonly hand: Hand;
  readonly fleet: LargeFleet;
  readonly minions: number;
}

/** Something that an operator does. */
interface Flow {
  readonly name: string;
  readonly does: (scene: Scene) => Promise<void>;
}

/** All of them; each begins where the one before has ended. */
export const FLOWS: readonly Flow[] = [
  {
    name: 'finds a minion in the list, by order, columns and filter, and opens it',
    does: findMinion,
  },
  { name: 'runs test.ping on one minion, and looks at each tab of its job', does: runOne },
  { name: 'runs a job on all minions after typing their number', does: runAll },
  { name: 'runs a job again for the missing one', does: rerun },
  { name: 'accepts a key after a look at it', does: acceptKey },
  { name: 'runs a batch, pauses, resumes and stops it', does: steerBatch },
  { name: 'switches an item of the schedule off and on', does: switchSchedule },
  { name: 'runs a runner', does: runRunner },
  { name: 'filters jobs, chooses columns and opens one', does: findJob },
  { name: 'filters events, follows them and opens one', does: findEvent },
  { name: 'filters the record of acts, opens one and exports them', does: exportActs },
  { name: 'finds a minion, a page and an act by the palette', does: usePalette },
  { name: 'chooses how rows look', does: chooseRows },
];

const pageOf = (name: string) => {
  const entry = PAGES.find((one) => one.name === name);
  if (entry === undefined) throw new Error(`no page is called ${name}`);
  return entry;
};
const number = (count: number): string => count.toLocaleString('en');
const grid = (page: Page, name: string): Locator => page.getByRole('grid', { name, exact: true });
const button = (page: Page | Locator, name: string | RegExp): Locator =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const field = (page: Page, name: string): Locator =>
  page.getByRole('textbox', { name, exact: true });
const rowsOf = (list: Locator): Locator => list.locator('[role=row][data-index]');

/** Presses each tab of the page that is open. */
async function pressTabs({ window, hand }: Scene): Promise<void> {
  const tabs = window.page.getByRole('main').getByRole('tab');
  for (let at = 0; at < (await tabs.count()); at += 1) {
    const tab = tabs.nth(at);
    if (await tab.isDisabled()) continue;
    await hand.press(tab);
    await until(
      `tab ${at} is open`,
      async () => (await tab.getAttribute('aria-selected')) === 'true',
    );
    await window.settled();
  }
}

async function findMinion(scene: Scene): Promise<void> {
  const { window, hand, fleet, minions } = scene;
  const { page } = window;
  const list = grid(page, 'Minions');
  await hand.go(pageOf('Minions'));
  await hand.press(list.getByRole('button', { name: /^Minion\b/ }));
  await page.waitForURL(/sort=-id/);
  await rowsOf(list)
    .first()
    .getByText(fleet.id(minions - 1))
    .waitFor();
  await hand.press(button(page, 'Columns'));
  await hand.press(page.getByRole('checkbox', { name: 'Kernel', exact: true }));
  await list.getByRole('columnheader', { name: 'Kernel' }).waitFor();
  await page.keyboard.press('Escape');
  await hand.press(page.getByRole('checkbox', { name: '✓ accepted' }));
  await page.waitForURL(/key=accepted/);
  const id = fleet.id(minions - 2);
  await hand.type(field(page, 'Id'), id);
  await page.getByText('1 match', { exact: true }).waitFor();
  const row = rowsOf(list).filter({ hasText: id });
  await hand.choose(row);
  await button(page, 'Run on these 1').waitFor();
  await hand.open(row);
  await window.settled(consolePath(`/minions/${id}`));
  await pressTabs(scene);
}

/** Fills the form for a job of minions. */
async function writeJob({ window: { page }, hand }: Scene, fun: string, target: string) {
  await hand.type(field(page, 'Target'), target);
  await hand.type(page.getByRole('combobox', { name: 'Function' }), fun);
  // What is offered may be left.
  await page.keyboard.press('Escape');
}

async function runOne(scene: Scene): Promise<void> {
  const { window, hand } = scene;
  const { page } = window;
  await hand.press(page.getByRole('link', { name: 'Run on this one' }));
  await window.settled(consolePath('/run'));
  await hand.type(page.getByRole('combobox', { name: 'Function' }), 'test.ping');
  await page.keyboard.press('Escape');
  await hand.press(button(page, 'Run on 1 minion'));
  await page.waitForURL(/\/jobs\/\d{20}/);
  const bar = page.getByRole('main').getByRole('img', { name: '1 targeted: 1 returned' });
  await bar.waitFor();
  await pressTabs(scene);
}

async function runAll(scene: Scene): Promise<void> {
  const { window, hand, minions } = scene;
  const { page } = window;
  await hand.go(pageOf('Run'));
  await writeJob(scene, 'test.ping', 'many-*');
  if (minions > TYPED_ABOVE)
    await hand.type(field(page, `Type ${minions} to confirm`), `${minions}`);
  await hand.press(button(page, `Run on ${number(minions)} minions`));
  await page.waitForURL(/\/jobs\/\d{20}/);
  const name = `${number(minions)} targeted: ${number(minions)} returned`;
  await page.getByRole('main').getByRole('img', { name }).waitFor();
  // The list of its minions has rows for the keys too.
  await hand.press(page.getByRole('tab', { name: 'Minions' }));
  await window.settled();
}

async function rerun(scene: Scene): Promise<void> {
  const { window, hand, fleet } = scene;
  const { page } = window;
  const gone = await fleet.leave();
  await hand.go(pageOf('Run'));
  await hand.take(page.getByRole('combobox', { name: 'Target type' }), 'List');
  await writeJob(scene, 'test.ping', `${fleet.id(0)},${gone}`);
  await hand.type(field(page, 'Deadline, seconds'), '1');
  await hand.press(button(page, 'Run on 2 minions'));
  await page.waitForURL(/\/jobs\/\d{20}/);
  const first = page.url();
  const bar = page.getByRole('main').getByRole('img', { name: /1 never returned/ });
  await bar.waitFor();
  await hand.press(button(page, 'Rerun ▾'));
  await hand.press(page.getByRole('menuitem', { name: 'Missing (never returned): 1' }));
  const dialog = page.getByRole('dialog', { name: 'Run again' });
  await hand.press(button(dialog, 'Run again on 1'));
  await until('the new job is open', () => page.url() !== first);
  await window.settled();
}

async function acceptKey({ window, hand, fleet }: Scene): Promise<void> {
  const { page } = window;
  const id = await fleet.knock();
  await hand.go(pageOf('Keys'));
  const row = rowsOf(grid(page, 'Keys')).filter({ hasText: id });
  await hand.open(row);
  const drawer = page.getByRole('dialog', { name: id });
  await drawer.getByText('Salt 3008, salt-key -F:').waitFor();
  await hand.leave(drawer);
  await hand.choose(row);
  await hand.press(button(page, 'Accept 1'));
  const dialog = page.getByRole('dialog', { name: 'Accept 1 key' });
  await hand.press(button(dialog, 'Accept 1'));
  await dialog.getByText('1 accepted.').waitFor();
  await hand.press(button(dialog, 'Close'));
  await dialog.waitFor({ state: 'hidden' });
  // The next one asks again.
  await hand.press(page.getByRole('radio', { name: /accepted/ }));
  await hand.type(field(page, 'Id'), id);
  await page.getByText('1 match, 0 chosen').waitFor();
  await hand.choose(row);
  await hand.press(button(page, 'Delete 1'));
  const question = page.getByRole('dialog', { name: 'Delete 1 key' });
  await hand.press(button(question, 'Delete 1'));
  await question.getByText('1 deleted.').waitFor();
  await hand.leave(question);
}

async function steerBatch(scene: Scene): Promise<void> {
  const { window, hand } = scene;
  const { page } = window;
  await hand.go(pageOf('Run'));
  await writeJob(scene, 'test.ping', 'many-0000*');
  await hand.press(page.getByRole('radio', { name: 'In a batch' }));
  await hand.type(field(page, 'Minions at a time'), '1');
  await hand.type(field(page, 'Wait, seconds'), '600');
  await hand.press(button(page, 'Run on 10 minions'));
  await page.waitForURL(/\/batches\/\d{20}/);
  await window.settled();
  await hand.press(button(page, 'Pause'));
  await hand.press(button(page, 'Resume'));
  await button(page, 'Pause').waitFor();
  await hand.press(button(page, 'Stop…'));
  const dialog = page.getByRole('dialog', { name: 'Stop this batch?' });
  await hand.press(button(dialog, 'Stop it'));
  await page.getByText('stopped: by a person').waitFor();
}

async function switchSchedule({ window: { page }, hand }: Scene): Promise<void> {
  await hand.go(pageOf('Schedule'));
  await hand.press(button(page, 'Disable: nightly'));
  const off = page.getByRole('dialog', { name: 'Switch off?' });
  await hand.press(button(off, 'Switch off'));
  await hand.press(button(page, 'Enable: nightly'));
  const on = page.getByRole('dialog', { name: 'Switch on?' });
  await hand.press(button(on, 'Switch on'));
  await button(page, 'Disable: nightly').waitFor();
}

async function runRunner({ window, hand }: Scene): Promise<void> {
  const { page } = window;
  await hand.go(pageOf('Run'));
  await hand.take(page.getByRole('combobox', { name: 'Where' }), 'Runner, on the master');
  await hand.type(page.getByRole('combobox', { name: 'Function' }), 'jobs.active');
  await page.keyboard.press('Escape');
  await hand.press(button(page, 'Run it on the master'));
  await page.waitForURL(/\/runs\/\d{20}/);
  await window.settled();
}

async function findJob(scene: Scene): Promise<void> {
  const { window, hand } = scene;
  const { page } = window;
  await hand.go(pageOf('Jobs'));
  await hand.press(page.getByRole('radio', { name: '▢ Never' }));
  await page.waitForURL(/result=never/);
  await hand.press(page.getByRole('radio', { name: 'All', exact: true }));
  await hand.type(field(page, 'Function'), 'test.p*');
  await page.waitForURL(/fun=test\.p\*/);
  const list = grid(page, 'Jobs');
  await hand.press(button(page, 'Columns'));
  await hand.press(
    page
      .getByRole('menuitemcheckbox', { name: 'Origin' })
      .or(page.getByRole('menuitem', { name: 'Origin' })),
  );
  await list.getByRole('columnheader', { name: 'Origin' }).waitFor({ state: 'hidden' });
  await page.keyboard.press('Escape');
  await hand.open(rowsOf(list).nth(1));
  await page.waitForURL(/\/jobs\/\d{20}/);
  await window.settled();
}

async function findEvent({ window, hand }: Scene): Promise<void> {
  const { page } = window;
  await hand.go(pageOf('Events'));
  await hand.type(field(page, 'Tag'), 'swarm/*');
  await page.waitForURL(/tag=swarm/);
  await hand.press(page.getByRole('switch', { name: 'Follow' }));
  await page.getByText('Follows', { exact: true }).waitFor();
  const list = grid(page, 'Events');
  await hand.open(rowsOf(list).first());
  const drawer = page.getByRole('dialog', { name: 'Event' });
  await drawer.getByRole('heading', { name: 'swarm/event' }).waitFor();
  await hand.leave(drawer);
}

async function exportActs({ window, hand }: Scene): Promise<void> {
  const { page } = window;
  await hand.go(pageOf('Audit'));
  await hand.take(page.getByRole('combobox', { name: 'Act' }), 'publish');
  await page.waitForURL(/act=publish/);
  await window.settled();
  await hand.open(rowsOf(grid(page, 'Acts on record')).first());
  const drawer = page.getByRole('dialog', { name: 'Act' });
  await drawer.getByRole('rowheader', { name: 'principal' }).waitFor();
  await hand.leave(drawer);
  await hand.press(button(page, 'Export'));
  const saved = page.waitForEvent('download');
  await hand.press(page.getByRole('menuitem', { name: 'CSV' }));
  if ((await saved).suggestedFilename() !== 'audit.csv') throw new Error('another file is saved');
}

async function usePalette({ window, hand, fleet }: Scene): Promise<void> {
  const { page } = window;
  await hand.find(fleet.id(3), fleet.id(3));
  await window.settled(consolePath(`/minions/${fleet.id(3)}`));
  await hand.find('Drift', 'Drift');
  await window.settled(consolePath('/drift'));
  for (const theme of ['dark', 'light']) {
    await hand.find(`${theme} theme`, theme === 'dark' ? 'Dark theme' : 'Light theme');
    await page.locator(`html[data-mantine-color-scheme="${theme}"]`).waitFor({ state: 'attached' });
  }
}

async function chooseRows({ window: { page }, hand }: Scene): Promise<void> {
  await hand.go(pageOf('Settings'));
  for (const name of ['Roomy', 'Compact']) {
    const choice = page.getByRole('radio', { name, exact: true });
    await hand.press(choice);
    await until(`${name} is chosen`, () => choice.isChecked());
  }
}

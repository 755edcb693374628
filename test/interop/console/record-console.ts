// `npm run record-console`: draws docs/console.png, the jobs of a master with 60 simulated minions.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Swarm } from '@brine/swarm';
import { BrineMaster, freePorts } from '@brine/testing';
import { ConsoleWindow, startBrowser } from './console-window.ts';

const PICTURE = fileURLToPath(new URL('../../../docs/console.png', import.meta.url));
/** Readers of the README load it. */
const BYTES_MAX = 150_000;
const SIZE = { width: 1_280, height: 640 };
const MINIONS = 60;
const PREFIX = 'web-';
/** Jobs, the oldest first. */
const JOBS: readonly (readonly string[])[] = [
  [`${PREFIX}*`, 'test.ping'],
  [`${PREFIX}0000*`, 'grains.items'],
  [`${PREFIX}*`, 'state.apply', 'nginx'],
  [`${PREFIX}0001*`, 'pkg.version', 'nginx'],
  [`${PREFIX}*`, 'service.status', 'nginx'],
];

const [port = 0] = await freePorts(1);
await using master = await BrineMaster.start({ auto_accept: true, brine: { http: { port } } });
await using swarm = await Swarm.start({
  retPort: master.home.retPort,
  minions: MINIONS,
  idPrefix: PREFIX,
  behaviours: [
    { ids: `${PREFIX}0001*`, retcode: 1 },
    { ids: `${PREFIX}0004*`, answer: 'never' },
  ],
});
await swarm.connect();
for (const args of JOBS) await master.brine('salt', ['--async', ...args]);
const browser = await startBrowser();
try {
  const window = await ConsoleWindow.open(browser, { viewport: SIZE, colorScheme: 'light' });
  await window.logIn(master);
  await window.page.goto(`http://127.0.0.1:${port}/console/jobs`);
  await window.settled();
  const { page } = window;
  await page.getByText('● live', { exact: true }).waitFor();
  // All but the silent minions have returned: the bars stay as they are.
  const bars = page.getByRole('grid').getByRole('img', { name: /waiting/ });
  await bars.nth(2).waitFor();
  const picture = await page.screenshot();
  if (picture.length > BYTES_MAX) throw new Error(`${picture.length} bytes are too many`);
  await writeFile(PICTURE, picture);
} finally {
  await browser.close();
}

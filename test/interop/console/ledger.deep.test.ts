// The ledger of a large job on its page, while a minion, a publisher and http-api are killed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster, freePorts, newestOf, type SaltProcess, saltVenv } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consolePath, ConsoleWindow, startBrowser } from './console-window.ts';
import { LEDGER_STATES, type LedgerFrame, LedgerFrames } from './ledger-frames.ts';

/** Simulated minions: 1,000 by the environment. */
const MINIONS = Number(process.env['BRINE_LEDGER_MINIONS'] ?? sized({ change: 200, release: 500 }));
const PREFIX = 'ledger-';
/** Each has minions of all behaviours; the last one is killed. */
const PROCESSES = 4;
const REAL = 'a-real-minion';
/** Minions whose keys are taken away while the job runs; the second one is killed before that. */
const REJECTED = minionId(PREFIX, 1);
const DELETED = minionId(PREFIX, MINIONS - 1);
const WITHOUT_KEY: readonly string[] = [REJECTED, DELETED];
const DEADLINE_S = 25;
const SECOND_MS = 1_000;
const LONG = { withinMs: 120_000 };
const LIMIT_MS = 600_000;
/** Causes of silence that the kills and the behaviours make at least. */
const CAUSES_MIN = 4;

type Causes = Readonly<Record<string, string>>;

let master: BrineMaster;
let browser: Browser;
let swarm: Swarm;
let real: SaltProcess;
let log = '';
let base = '';

/** Some minions answer at once, most while services are killed, some too late or never. */
function behaviours() {
  const ids = WITHOUT_KEY.map((id) => ({ ids: id, answer: 'never' as const }));
  const whileKilled = [500, (DEADLINE_S - 4) * SECOND_MS] as const;
  const late = [(DEADLINE_S + 1) * SECOND_MS, (DEADLINE_S + 8) * SECOND_MS] as const;
  // A share is of neighbours, and each process has its own range of them.
  return [
    ...ids,
    { ids: `${PREFIX}*0`, answer: 'never' as const },
    { ids: `${PREFIX}*1`, delayMs: whileKilled, retcode: 1 },
    { ids: `${PREFIX}*2`, delayMs: late },
    { ids: `${PREFIX}*3`, delayMs: whileKilled, answer: 'twice' as const },
    { ids: `${PREFIX}*5`, drop: true, delayMs: whileKilled },
    { delayMs: whileKilled },
  ];
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  const version = newestOf('3008');
  const venv = saltVenv(version);
  master = await BrineMaster.start({
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    brine: { workers: 2, job_deadline: DEADLINE_S, http: { port } },
  });
  log = join(master.sandbox.dir, 'swarm.jsonl');
  const home = await master.sandbox.minion(REAL, master.home.retPort);
  real = master.sandbox.startMinion(await venv, home);
  swarm = await Swarm.start({
    retPort: master.home.retPort,
    minions: MINIONS,
    processes: PROCESSES,
    idPrefix: PREFIX,
    keyPairs: 4,
    pkiDir: master.home.pkiDir,
    reconnectMs: [100, 500],
    returnTimeoutMs: [3_000, 6_000],
    returnSends: 20,
    behaviours: behaviours(),
    log,
  });
  await swarm.connect();
  await master.acceptKeys([REAL], 120_000);
  await master.waitForMinions([REAL], 120_000);
  browser = await startBrowser();
}, LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await swarm?.close();
  await master?.close();
});

async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await master.brine(command, args);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** Kills a service by SIGKILL, and waits for the next process of it. */
async function killService(victim: string): Promise<void> {
  const pidOf = async () => (await master.services()).find(({ name }) => name === victim)?.pid;
  const pid = await pidOf();
  if (pid === undefined) throw new Error(`no ${victim}`);
  process.kill(pid, 'SIGKILL');
  await until(
    `${victim} runs again`,
    async () => {
      const now = await pidOf();
      return now !== undefined && now !== pid;
    },
    LONG,
  );
}

/** The causes that the runner names, of all that are silent. */
async function causesOfRunner(jid: string): Promise<Causes> {
  const found = JSON.parse(await run('run', 'jobs.why', jid, '--out', 'json')) as Record<
    string,
    { readonly cause: string }
  >;
  return Object.fromEntries(Object.entries(found).map(([id, { cause }]) => [id, cause]));
}

/** The causes on the page: each list is opened to its end. */
async function causesOfPage({ page }: ConsoleWindow): Promise<Causes> {
  await page.getByRole('button', { name: 'Ask again' }).click();
  const panel = page.getByRole('tabpanel');
  const more = panel.getByRole('button', { name: /^([\d,]+ more|More silent minions)$/ });
  await until('all silent minions are listed', async () => {
    const found = await more.count();
    if (found > 0) await more.first().click();
    return found === 0;
  });
  const lists = panel.getByRole('list', { name: /^Minions: / });
  const causes: Record<string, string> = {};
  for (const list of await lists.all()) {
    const cause = (await list.getAttribute('aria-label'))?.replace('Minions: ', '') ?? '';
    for (const id of await list.locator('strong').allInnerTexts()) causes[id] = cause;
  }
  return causes;
}

/** The minions of a job in some state, by the runner. */
async function minionsIn(jid: string, state?: string): Promise<readonly string[]> {
  const now = new Date().toISOString();
  const found = JSON.parse(await run('run', 'jobs.at', jid, now, '--out', 'json')) as {
    readonly Minions: Readonly<Record<string, string>>;
  };
  return Object.entries(found.Minions)
    .filter(([, one]) => state === undefined || one === state)
    .map(([id]) => id)
    .sort();
}

/** Simulated minions that a job reached. */
async function reached(jid: string): Promise<readonly string[]> {
  const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as { e: string; jid?: string; ids?: [string, string][] })
    .filter((one) => one.e === 'received' && one.jid === jid)
    .flatMap(({ ids = [] }) => ids)
    .flatMap(([from, to]) => {
      const [first = 0, last = 0] = [from, to].map((id) => Number(id.slice(PREFIX.length)));
      return Array.from({ length: last - first + 1 }, (_, at) => minionId(PREFIX, first + at));
    })
    .sort();
}

/** Its minions by their states, by the runner. */
async function countsOfRunner(jid: string): Promise<LedgerFrame['numbers']> {
  const now = new Date().toISOString();
  const found = JSON.parse(await run('run', 'jobs.at', jid, now, '--out', 'json')) as {
    readonly Ledger: LedgerFrame['numbers'];
  };
  const { returned, failed, late, waiting, never } = found.Ledger;
  return { returned, failed, late, waiting, never };
}

function expectSums(frames: readonly LedgerFrame[], targeted: number): void {
  for (const frame of frames) {
    const sum = LEDGER_STATES.reduce((total, state) => total + frame.numbers[state], 0);
    expect({ ...frame, sum }).toMatchObject({ sum: targeted, targeted });
    // The bar's sentence has the same numbers.
    expect(frame.sentence).toEqual({ ...frame.numbers, targeted });
  }
}

/** What minions did is not taken back. */
function expectNoFall(frames: readonly LedgerFrame[]): void {
  for (const [at, { numbers }] of frames.entries()) {
    const before = frames[at - 1]?.numbers;
    if (before === undefined) continue;
    for (const state of ['returned', 'failed'] as const) {
      const around = JSON.stringify(frames.slice(Math.max(0, at - 3), at + 3));
      expect(numbers[state], around).toBeGreaterThanOrEqual(before[state]);
    }
  }
}

test(
  `a job of ${MINIONS + 1} minions adds up at each frame, whatever is killed`,
  async () => {
    const window = await ConsoleWindow.open(browser);
    const { page } = window;
    await window.logIn(master);
    const shown = await run('salt', '--async', '*', 'test.sleep', '600');
    const jid = /\d{20}/.exec(shown)?.[0] ?? '';
    await page.goto(`${base}/console/jobs/${jid}`);
    await window.settled(consolePath(`/jobs/${jid}`));
    const frames = await LedgerFrames.begin(page);
    const came = async (share: number) => {
      await until(
        `${share} of all have returned`,
        async () => {
          const last = (await frames.of(jid)).at(-1);
          if (last === undefined) return false;
          const { returned, failed } = last.numbers;
          return returned + failed >= share * MINIONS || Promise.reject(new Error(`${returned}`));
        },
        LONG,
      );
    };
    await came(0.1);
    const processes = (await swarm.stats()).processes;
    const pid = processes.at(-1)?.pid ?? NaN;
    process.kill(pid, 'SIGKILL');
    await real.kill();
    await run('key', '-d', DELETED, '-y');
    await run('key', '-r', REJECTED, '--include-accepted', '-y');
    await came(0.2);
    await killService('publisher');
    await came(0.3);
    await killService('http-api');
    await came(0.45);
    await killService('http-api');

    const targeted = MINIONS + 1;
    await until(
      'the job is closed',
      async () => {
        const last = (await frames.of(jid)).at(-1)?.numbers;
        return last?.waiting === 0;
      },
      LONG,
    );
    await until(
      'the page has what the runner has',
      async () => {
        const { numbers } = (await frames.of(jid)).at(-1) ?? {};
        expect(numbers).toEqual(await countsOfRunner(jid));
        return (numbers?.late ?? 0) > 0;
      },
      LONG,
    );
    const seen = await frames.of(jid);
    const drawn = await frames.count();
    process.stdout.write(
      `${targeted} minions: ${seen.length} ledgers in ${drawn} frames, ` +
        `${JSON.stringify(seen.at(-1)?.numbers)}\n`,
    );
    expectSums(seen, targeted);
    expectNoFall(seen);
    expect(seen.length).toBeGreaterThan(5);
    await page.getByRole('tab', { name: /^Why / }).click();
    await until(
      'the page has the causes of the runner',
      async () => {
        const [onPage, ofRunner] = [await causesOfPage(window), await causesOfRunner(jid)];
        expect(onPage).toEqual(ofRunner);
        return true;
      },
      LONG,
    );
    const causes = await causesOfRunner(jid);
    const never = await minionsIn(jid, 'never');
    expect(Object.keys(causes)).toEqual(expect.arrayContaining([...never]));
    const counts: Record<string, number> = {};
    for (const cause of Object.values(causes)) counts[cause] = (counts[cause] ?? 0) + 1;
    process.stdout.write(`causes: ${JSON.stringify(counts)}\n`);
    expect([causes[DELETED], causes[REJECTED]]).toEqual(['key_deleted', 'key_rejected']);
    expect(Object.keys(counts).length).toBeGreaterThanOrEqual(CAUSES_MIN);

    await page.getByRole('button', { name: /^Rerun/ }).click();
    const item = page.getByRole('menuitem', { name: /^Missing/ });
    expect(await item.innerText()).toBe(
      `Missing (never returned): ${never.length.toLocaleString('en')}`,
    );
    await item.click();
    // Minions without an accepted key can not be reached: the preview leaves them out.
    const wanted = never.filter((id) => !WITHOUT_KEY.includes(id));
    const number = wanted.length.toLocaleString('en');
    const dialog = page.getByRole('dialog', { name: 'Run again' });
    await dialog
      .getByRole('status')
      .filter({ hasText: `${number} minions` })
      .waitFor();
    await dialog.getByRole('button', { name: `Run again on ${number}` }).click();
    await until('the page of the new job is open', () => !page.url().includes(jid));
    const again = /\d{20}/.exec(page.url())?.[0] ?? '';
    await window.settled(consolePath(`/jobs/${again}`));
    expect(await minionsIn(again)).toEqual(wanted);
    const alive = wanted.filter((id) => id !== REAL && !isOf(id, PROCESSES - 1));
    await until('those that live have the new job', async () => {
      // Minions of one process share its AES key: in the rig those without a key of theirs read it.
      expect((await reached(again)).filter((id) => !WITHOUT_KEY.includes(id))).toEqual(alive);
      return true;
    });
    await until('its page has its ledger', async () => (await frames.of(again)).length > 0);
    expectSums(await frames.of(again), wanted.length);
    process.stdout.write(`rerun: ${wanted.length} minions, ${alive.length} of them got it\n`);
    expect(alive.length).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

/** Whether a minion is of this process of the swarm. */
function isOf(id: string, part: number): boolean {
  const first = Math.floor((part * MINIONS) / PROCESSES);
  return Number(id.slice(PREFIX.length)) >= first;
}

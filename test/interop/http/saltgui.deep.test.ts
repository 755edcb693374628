// SaltGUI, as its users see it: each page and menu in Chromium, with a full and a narrow user.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../console/console-window.ts';
import { HttpClient } from './http-client.ts';
import { SaltGui } from './saltgui.ts';

const SALTGUI = fileURLToPath(new URL('../../fixtures/saltgui/', import.meta.url));
const PASSWORD = 'lab-secret';
const IDS = ['web1', 'db1'];
/** Their keys wait. */
const WAITING = ['new1', 'new2'];

const NARROW = [
  { web1: ['test.ping', 'grains.items', 'pillar.items'] },
  { '@runner': ['jobs.active', 'jobs.list_job', 'jobs.list_jobs'] },
  { '@wheel': ['config.values', 'key.finger', 'key.list_all'] },
];

const FILES = {
  'pillar/top.sls': "base:\n  '*': [role]\n",
  'pillar/role.sls': 'role: frontend\n',
  'files/deploy.sls': 'ping all:\n  salt.function:\n    - name: test.ping\n    - tgt: "*"\n',
};

/** What a page shows, and what its menus offer, those of its rows included. */
interface Shown {
  readonly texts: readonly string[];
  readonly items?: readonly string[];
}

const STATE = ['Apply state…', 'Test state…'];
const OF_MINION = ['grains', 'pillars', 'mine', 'beacons', 'schedules'].map(
  (name) => `Show ${name}`,
);

/** Pages in the menu. */
const IN_MENU: Readonly<Record<string, Shown>> = {
  minions: {
    texts: ['web1', 'db1', '3008.', '2 minions, 2 unaccepted keys', 'test.echo', 'done'],
    items: [...STATE, ...OF_MINION],
  },
  grains: { texts: ['web1', 'db1', 'Linux', 'kernel'], items: ['Show grains'] },
  pillars: { texts: ['web1', 'db1', '2 minions'], items: ['Show pillars'] },
  mine: { texts: ['web1', 'db1', '2 minions'], items: ['Show functions'] },
  beacons: { texts: ['web1', 'db1', '2 minions'], items: ['Show beacons'] },
  schedules: { texts: ['web1', 'db1', '2 minions'], items: ['Show schedules'] },
  nodegroups: {
    texts: ['nodegroup webs — 1 minion', 'not in any nodegroup — 1 minion', 'web1', 'db1'],
    items: [...STATE, ...OF_MINION],
  },
  keys: {
    texts: ['new1', 'new2', '2 accepted keys, 2 unaccepted keys'],
    items: ['Accept all unaccepted keys…', 'Accept key…', 'Reject key…', 'Delete key…'],
  },
  jobs: {
    texts: ['test.echo', '2 minions, 2 results, 2 successes'],
    items: ['Show all jobs', 'Show details', 'Re‑run job…', 'Update status', 'Update details'],
  },
  highstate: { texts: ['web1', 'db1', '(no job)'], items: STATE },
  orchestrations: {
    texts: ['deploy', 'ping all', 'test.ping'],
    items: ['Apply orchestration…', 'Test orchestration step…'],
  },
  templates: { texts: ['Ping the webs', 'web*', 'test.ping'], items: ['Apply template…'] },
  events: { texts: ['press'] },
  reactors: { texts: ['site/deploy', '/srv/reactor/deploy.sls'] },
  issues: { texts: ["Key for minion 'new1' is unaccepted"], items: ['Go to keys page'] },
};

/** A page that the menu of a row opens: the page of the row, a text of it, and the item. */
interface ShownByRow extends Shown {
  readonly by: readonly [page: string, row: string, item: string];
}

const BY_ROW: Readonly<Record<string, ShownByRow>> = {
  'grains-minion': {
    by: ['grains', 'web1', 'Show grains'],
    texts: ['Grains on web1', '"web1"', 'kernel', '"Linux"'],
    items: ['Refresh grains…', 'Edit grain…', 'Delete key…'],
  },
  'pillars-minion': {
    by: ['pillars', 'web1', 'Show pillars'],
    texts: ['Pillars on web1', 'role', '"frontend"', '1 pillar'],
    items: ['Refresh pillar…'],
  },
  'mine-minion': {
    by: ['mine', 'web1', 'Show functions'],
    texts: ['Mine on web1'],
    items: ['Update…'],
  },
  'beacons-minion': { by: ['beacons', 'web1', 'Show beacons'], texts: ['Beacons on web1'] },
  'schedules-minion': { by: ['schedules', 'web1', 'Show schedules'], texts: ['Schedules on web1'] },
  job: {
    by: ['jobs', 'test.echo', 'Show details'],
    texts: ['test.echo', 'from a job', 'web1', 'db1'],
    items: ['Re‑run job…'],
  },
};

/** What the narrow user sees on pages without a row for each minion. */
const NARROW_TEXTS: Readonly<Record<string, readonly string[]>> = {
  keys: ['web1', 'db1', '1 rejected key'],
  jobs: ['test.echo'],
  templates: ['Ping the webs'],
  events: ['press'],
  reactors: ['site/deploy'],
  issues: ['Issues'],
};

const OF_MINIONS_REFUSED = ['mine-minion', 'beacons-minion', 'schedules-minion'];

let master: BrineMaster;
let http: HttpClient;
let browser: Browser;
let gui: SaltGui;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  http = new HttpClient(port);
  master = await BrineMaster.start(
    {
      sharedsecret: PASSWORD,
      external_auth: {
        sharedsecret: { full: ['.*', '@runner', '@wheel', '@jobs'], narrow: NARROW },
      },
      netapi_enable_clients: ['local', 'local_async', 'runner', 'runner_async', 'wheel'],
      rest_cherrypy: {
        port,
        host: '127.0.0.1',
        disable_ssl: true,
        app: join(SALTGUI, 'index.html'),
        static: join(SALTGUI, 'static'),
      },
      nodegroups: { webs: 'web*' },
      reactor: [{ 'site/deploy': ['/srv/reactor/deploy.sls'] }],
      saltgui_templates: {
        ping: { description: 'Ping the webs', target: 'web*', command: 'test.ping' },
      },
      saltgui_preview_grains: ['kernel'],
      saltgui_public_pillars: ['role'],
      brine: { http_silent_minions: false },
    },
    {
      onHome: async ({ configDir }) => {
        for (const [path, text] of Object.entries(FILES)) {
          await writeFile(join(configDir, path), text);
        }
      },
    },
  );
  for (const id of IDS) await master.startMinion(id);
  const [started] = await Promise.all([startBrowser(), master.acceptKeys(IDS)]);
  browser = started;
  for (const id of WAITING) await master.startMinion(id);
  await master.waitForMinions(IDS);
  await runJob('from a job');
});
afterAll(async () => {
  await browser?.close();
  await master?.close();
});

/** Calls as the user with all rights, beside the browser. */
async function call(low: object): Promise<void> {
  const headers = {
    'Content-Type': 'application/json',
    'X-Auth-Token': await http.logIn('full'),
  };
  const body = JSON.stringify([low]);
  expect((await http.ask({ method: 'POST', path: '/', headers, body })).status).toBe(200);
}

/** Runs `test.echo` on all minions. */
async function runJob(text: string): Promise<void> {
  await call({ client: 'local', tgt: '*', fun: 'test.echo', arg: [text] });
}

async function openByRow([page, row, item]: ShownByRow['by']): Promise<void> {
  await gui.open(page);
  await gui.press(gui.row(page, row).first(), item);
}

async function open(user: string): Promise<SaltGui> {
  const opened = await SaltGui.open(browser, `http://127.0.0.1:${http.port}/`);
  await opened.logIn(user, PASSWORD);
  return opened;
}

describe('a user with all rights', () => {
  beforeAll(async () => {
    gui = await open('full');
  });
  afterEach(() => {
    expect(gui.problems).toEqual([]);
    expect(gui.refused).toEqual([]);
  });
  afterAll(() => gui?.close());

  it('has the whole menu, and all pages are known here', async () => {
    const inMenu = Object.keys(IN_MENU);
    const others = ['login', 'logout', 'options', ...Object.keys(BY_ROW)];
    expect([...(await gui.pages())].sort()).toEqual([...inMenu, ...others].sort());
    await until('the menu is whole', async () => (await gui.menu()).hidden.length === 0);
    expect([...(await gui.menu()).shown].sort()).toEqual([...inMenu, 'logout'].sort());
  });

  it.each(Object.entries(IN_MENU))(
    'page %s shows its data, and its menus work',
    async (page, { texts, items = [] }) => {
      await gui.open(page);
      await gui.shows(page, texts);
      expect(await gui.pressMenus(page, texts)).toEqual(expect.arrayContaining([...items]));
    },
  );

  it.each(Object.entries(BY_ROW))(
    'page %s is opened by a row, and its menus work',
    async (page, { by, texts, items = [] }) => {
      await openByRow(by);
      await gui.shows(page, texts);
      expect(await gui.pressMenus(page, texts)).toEqual(expect.arrayContaining([...items]));
    },
  );

  it('page options shows the session, options of the master, and counts', async () => {
    await gui.openOptions();
    await gui.shows('options', ['session_user', 'full', "webs: 'web*'", 'CherryPy Applications']);
  });

  it('recent jobs beside a page have menus, and the search leaves matching rows', async () => {
    await gui.open('minions');
    const { texts = [] } = IN_MENU['minions'] ?? {};
    const items = await gui.pressMenus('minions', texts, 'jobs');
    expect(items).toEqual(['Show details', 'Update status']);
    await gui.search('minions', 'web1');
    await until('db1 is not shown', () => gui.row('minions', 'db1').isHidden());
    expect(await gui.row('minions', 'web1').first().isVisible()).toBe(true);
  });

  it('the command box runs commands, and events show the ends of one that it began', async () => {
    await gui.run('*', 'test.ping', ['web1', 'db1', 'true']);
    await gui.run('web1', 'test.echo "a text"', ['a text']);
    await gui.run('', 'runners.test.arg 1 a=2', ['RUNNER']);
    await gui.run('web1', 'wheel.key.finger', ['WHEEL']);
    // SaltGUI drops the ends of a job whose number it does not have yet.
    await gui.runAsync('*', 'test.sleep 3', ['web1', 'db1']);
  });

  it('the page of events shows them as they come', async () => {
    await gui.open('events');
    await gui.play();
    await runJob('seen live');
    for (const id of IDS) {
      await gui.row('events', new RegExp(`salt/job/\\d{20}/ret/${id}[^]*seen live`)).waitFor();
    }
    await gui
      .row('events', /salt\/job\/\d{20}\/new/)
      .first()
      .waitFor();
  });

  it('keys are accepted and rejected by their menus, and events show it', async () => {
    await gui.open('keys');
    for (const [id, item, state] of [
      ['new1', 'Accept key…', 'accepted'],
      ['new2', 'Reject key…', 'rejected'],
    ] as const) {
      const cell = gui.row('keys', id).locator('td.status');
      await cell.filter({ hasText: /^unaccepted$/ }).waitFor();
      await gui.press(gui.row('keys', id), item);
      await gui.runShown(['WHEEL']);
      await cell.filter({ hasText: new RegExp(`^${state}$`) }).waitFor();
      await gui.closeBox();
    }
    const { stdout } = await master.brine('key', ['-l', 'all', '--out', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      minions: ['db1', 'new1', 'web1'],
      minions_rejected: ['new2'],
    });
  });

  it('logs out', async () => {
    await gui.logOut();
  });
});

describe('a user with few rights', () => {
  beforeAll(async () => {
    gui = await open('narrow');
  });
  afterEach(() => {
    expect(gui.problems).toEqual([]);
  });
  afterAll(() => gui?.close());

  it('sees what its rights cover on each page, and no errors but 401', async () => {
    expect((await gui.menu()).hidden).toEqual(['orchestrations']);
    for (const page of Object.keys(IN_MENU).filter((name) => name !== 'orchestrations')) {
      await gui.open(page);
      await gui.shows(page, NARROW_TEXTS[page] ?? ['web1', 'db1']);
    }
    for (const [page, { by, texts }] of Object.entries(BY_ROW)) {
      await openByRow(by);
      // The newest job may be another one by now.
      const known = page === 'job' ? ['test.echo', ...IDS] : texts;
      await gui.shows(page, OF_MINIONS_REFUSED.includes(page) ? ['(error)'] : known);
    }
    await gui.openOptions();
    await gui.shows('options', ['session_user', 'narrow']);
  });

  it('runs what it may, and gets events of that alone', async () => {
    await gui.open('events');
    await gui.play();
    await call({ client: 'runner', fun: 'test.arg', arg: ['of another'] });
    await gui.run('db1', 'test.ping', ['Unauthorized']);
    await gui.run('web1', 'test.ping', ['web1', 'true']);
    await gui.row('events', /salt\/job\/\d{20}\/ret\/web1[^]*test\.ping/).waitFor();
    expect(await gui.row('events', 'of another').count()).toBe(0);
  });

  it('was refused exactly what it has no right to', async () => {
    await gui.logOut();
    expect(gui.refused).toEqual([
      'local beacons.list',
      'local beacons.list_available',
      'local grains.items',
      'local mine.valid',
      'local pillar.obfuscate',
      'local schedule.list',
      'local test.ping',
      'local test.providers',
      'runner manage.versions',
      'runner state.orchestrate_show_sls',
      'wheel minions.connected',
    ]);
  });
});

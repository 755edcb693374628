// What a stock 3008.2 master and Brine fire by themselves, while the same is asked of both: tag by
// tag, with the names and the kinds of what each event says. docs/events.md is the table of it.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  type SaltConfig,
  type SaltHome,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
} from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withPackages } from '../python/site.ts';

/** The stock master reads git with it. */
const PYGIT2 = 'pygit2==1.15.1';
const WITHIN_MS = 120_000;
/** He may ping, and nothing else. */
const BOB = ['-a', 'sharedsecret', '--username', 'bob', '--password', 'x'];

/** Tags that one of the two fires alone, and why; docs/events.md says it to operators. */
const ALONE: Readonly<Record<string, string>> = {
  'salt/event_listen/start': 'it says that the process of event_return listens',
};

/** Names in the data that one of the two leaves out, and why. */
const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'salt/job/error': {
    key: 'it is the secret of root',
    kwargs: 'the password of the user is there',
  },
  'salt/batch/<jid>/new': {
    state: 'for stock batch runners',
    brine: 'what brine salt -b prints by',
  },
  'salt/batch/<jid>/progress': {
    state: 'as above',
    brine: 'as above',
    iter: 'a number; Salt leaves it null',
  },
  'salt/batch/<jid>/complete': { state: 'as above', brine: 'as above' },
};

interface Fired {
  readonly tag: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A master, whose it is, with its minions and its commands. */
interface Side {
  readonly name: string;
  readonly sandbox: SaltSandbox;
  readonly retPort: number;
  readonly pkiDir: string;
  readonly place: Place;
  readonly run: (
    command: 'salt' | 'salt-key' | 'salt-run',
    args: readonly string[],
  ) => Promise<unknown>;
}

/** Where a master has its files, its repository and the log of its events. */
interface Place {
  readonly events: string;
  readonly roots: string;
  readonly repo: string;
}

const ORCHESTRATION = `
ask a runner:
  salt.runner:
    - name: test.arg
    - arg: [x]
ask a wheel:
  salt.wheel:
    - name: key.list_all
ask a minion:
  salt.function:
    - name: test.ping
    - tgt: m1
apply:
  salt.state:
    - tgt: m1
    - sls: good
`;

async function placeIn(dir: string): Promise<Place> {
  const place = { events: join(dir, 'ev.jsonl'), roots: join(dir, 'srv'), repo: join(dir, 'repo') };
  await mkdir(place.roots);
  await mkdir(place.repo);
  const files: Record<string, string> = {
    'good.sls': 'fine:\n  test.succeed_without_changes:\n    - fire_event: True\n',
    'broken.sls': 'wrong:\n  test.fail_without_changes: []\n',
    'orch.sls': ORCHESTRATION,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(place.roots, name), text);
  git(place.repo, 'init', '-q', '-b', 'master');
  await commit(place.repo, 'first');
  return place;
}

function git(repo: string, ...args: readonly string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'commit.gpgsign=false'];
  execFileSync('git', [...who, ...args], { cwd: repo });
}

async function commit(repo: string, name: string): Promise<void> {
  await writeFile(join(repo, name), name);
  git(repo, 'add', '-A');
  git(repo, 'commit', '-qm', name);
}

function optionsOf({ events, roots, repo }: Place): SaltConfig {
  return {
    auto_accept: false,
    loop_interval: 2,
    gather_job_timeout: 2,
    event_return: 'rawfile_json',
    'rawfile_json.filename': events,
    file_roots: { base: [roots] },
    fileserver_backend: ['roots', 'gitfs'],
    gitfs_remotes: [`file://${repo}`],
    gitfs_update_interval: 2,
    roots_update_interval: 2,
    fileserver_events: true,
    master_stats: true,
    master_stats_event_iter: 1,
    external_auth: { sharedsecret: { bob: ['test.ping'] } },
    sharedsecret: 'x',
  };
}

async function eventsOf({ place }: Side): Promise<Fired[]> {
  const text = await readFile(place.events, 'utf8').catch(() => '');
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Fired);
}

/** A tag without what differs from run to run. */
function pattern(tag: string): string {
  return tag.replace(/\d{20}/g, '<jid>').replace(/^salt\/stats\/.*/, 'salt/stats/<worker>');
}

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
};

/** What each kind of event says: the names, each with the kinds of its values, in their order. */
function shapesOf(events: readonly Fired[]): Map<string, Set<string>> {
  const shapes = new Map<string, Set<string>>();
  for (const { tag, data } of events) {
    // A command asks minions again whenever an answer takes long.
    if (data['fun'] === 'saltutil.find_job') continue;
    const left = LEFT_OUT[pattern(tag)] ?? {};
    const fields = Object.entries(data).filter(([name]) => !(name in left));
    const names = fields.map(([name, value]) => `${name}: ${kindOf(value)}`);
    const known = shapes.get(pattern(tag)) ?? new Set<string>();
    shapes.set(pattern(tag), known.add(names.sort().join(', ')));
  }
  return shapes;
}

describe('events of a stock master and of Brine', () => {
  let venv: SaltVenv;
  let stock: Side;
  let brine: Side;
  let master: BrineMaster;
  let place: SaltSandbox;

  async function startStock(): Promise<Side> {
    const sandbox = await SaltSandbox.create();
    const where = await placeIn(sandbox.dir);
    const withGit = await withPackages(venv, sandbox.dir, PYGIT2);
    const home = await sandbox.master(optionsOf(where));
    await sandbox.startMaster(withGit, home);
    const run: Side['run'] = (command, args) => sandbox.run(withGit, command, home, args);
    return { name: 'stock', sandbox, ...home, place: where, run };
  }

  async function startBrine(): Promise<Side> {
    place = await SaltSandbox.create();
    const where = await placeIn(place.dir);
    master = await BrineMaster.start({ ...optionsOf(where), brine: { workers: 1 } });
    const run: Side['run'] = (command, args) => {
      const name = command === 'salt' ? 'salt' : command.slice('salt-'.length);
      return master.brine(name, args);
    };
    const { sandbox, home } = master;
    return { name: 'brine', sandbox, ...home, place: where, run };
  }

  beforeAll(async () => {
    venv = await saltVenv('3008.2');
    stock = await startStock();
    brine = await startBrine();
    for (const side of [stock, brine]) {
      for (const id of ['m1', 'm2']) {
        const home: SaltHome = await side.sandbox.minion(id, side.retPort, { state_events: true });
        side.sandbox.startMinion(venv, home);
      }
    }
    await Promise.all([play(stock), play(brine)]);
  }, 600_000);
  afterAll(async () => {
    await master?.close();
    await stock?.sandbox.close();
    await place?.close();
  });

  const seen = (side: Side, what: string, is: (event: Fired) => boolean): Promise<unknown> =>
    until(`${side.name}: ${what}`, async () => (await eventsOf(side)).some(is), {
      withinMs: WITHIN_MS,
    });

  const tagged = (side: Side, tag: RegExp): Promise<unknown> =>
    seen(side, String(tag), (event) => tag.test(event.tag));

  const auth = (side: Side, id: string, act: string): Promise<unknown> =>
    seen(side, `${act} of ${id}`, ({ tag, data }) => {
      return tag === 'salt/auth' && data['id'] === id && data['act'] === act;
    });

  /** What is asked of both. */
  async function play(side: Side): Promise<void> {
    const { run } = side;
    // No minion is asked meanwhile whether it is still at work.
    const salt = (...words: string[]): Promise<unknown> => run('salt', ['-t', '90', ...words]);
    for (const id of ['m1', 'm2']) await auth(side, id, 'pend');
    await run('salt-key', ['-a', 'm1', '-y']);
    await run('salt-key', ['-r', 'm2', '-y']);
    await auth(side, 'm2', 'reject');
    await tagged(side, /^salt\/minion\/m1\/start$/);
    await salt('m1', 'test.ping');
    await run('salt', ['-b', '1', '--async', 'm1', 'test.ping']);
    await salt('m1', 'state.sls', 'good');
    await salt('m1', 'state.sls', 'broken');
    await run('salt', [...BOB, 'm1', 'cmd.run', 'id']);
    await run('salt-run', ['test.arg', 'a', 'b=1']);
    await run('salt-run', ['error.error', 'name=ValueError', 'message=no']);
    await run('salt-run', ['state.orchestrate', 'orch']);
    await run('salt-run', ['event.send', 'my/tag', '{"a": 1}']);
    await run('salt-key', ['-d', 'm2', '-y']);
    await tagged(side, /^key$/);
    await writeFile(join(side.place.roots, 'later.sls'), 'a: {}\n');
    await commit(side.place.repo, 'later');
    await seen(side, 'a change of the roots', ({ tag, data }) => {
      const { added } = (data['files'] ?? {}) as { added?: string[] };
      return tag === 'salt/fileserver/roots/update' && added?.[0]?.endsWith('later.sls') === true;
    });
    await seen(side, 'a change in git', ({ tag, data }) => {
      return tag === 'salt/fileserver/gitfs/update' && data['changed'] === true;
    });
    await tagged(side, /^salt\/stats\//);
    await tagged(side, /^salt\/batch\/\d+\/complete$/);
    await run('salt-run', ['event.send', 'the/end', '{}']);
    await tagged(side, /^the\/end$/);
  }

  it('both fire the same tags, and say the same in them', async () => {
    const [theirs, ours] = [shapesOf(await eventsOf(stock)), shapesOf(await eventsOf(brine))];
    const tags = [...new Set([...theirs.keys(), ...ours.keys()])].sort();
    const rows = tags.flatMap((tag) => {
      const both = [theirs, ours].map((shapes) => [...(shapes.get(tag) ?? [])].sort());
      return tag in ALONE || both[0]!.join('\n') === both[1]!.join('\n') ? [] : [[tag, ...both]];
    });
    process.stdout.write(`tags compared: ${tags.length}\n`);
    expect(rows).toEqual([]);
  });
});

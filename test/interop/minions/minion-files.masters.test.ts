import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, NEWEST_SALTS, newestOf, type SaltVenv, saltVenv } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { loadPauses } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';

/*
 * Files, states, mine and pushes of stock minions at a Brine master of two workers. Two releases
 * are asked; with BRINE_FILES_ALL=1 all three, and they fetch a larger file.
 */

const IS_WHOLE = process.env['BRINE_FILES_ALL'] === '1';
const [OLD, NEW] = [newestOf('3006'), newestOf('3008')];
const VERSIONS = IS_WHOLE ? NEWEST_SALTS : [OLD, NEW];
const idOf = (version: string): string => `files-${version}`;
const IDS = VERSIONS.map(idOf);
const BIG_BYTES = (IS_WHOLE ? 200 : 100) * 1024 * 1024;
/** Less than the file. Pieces that were sent wait for the collector: 25 to 66 MiB were seen. */
const GROWTH_MAX_BYTES = 96 * 1024 * 1024;

type Answers = Record<string, unknown>;
type StateResult = { readonly result: boolean | null; readonly changes: object };

/** An orchestration that waits for a minion that is not there. */
const withGhost = (kind: string, target: string): string => `ghostly:
  salt.state:
    - tgt: '${target}'
    - tgt_type: ${kind}
    - expect_minions: True
    - sls: changing
`;

const FILES: Record<string, string> = {
  'top.sls': 'base:\n  "files-*":\n    - app\n',
  'app/init.sls': `include:
  - app.base
managed:
  file.managed:
    - name: {{ grains['brine_out'] }}/managed
    - source: salt://app/managed.jinja
    - template: jinja
    - context:
        word: templated
    - mode: '0640'
    - require:
      - file: tree
script:
  cmd.script:
    - source: salt://app/script.sh
    - args: "{{ grains['brine_out'] }}/scripted"
    - require:
      - file: managed
`,
  'app/base.sls': `tree:
  file.recurse:
    - name: {{ grains['brine_out'] }}/tree
    - source: salt://app/tree
    - include_empty: True
    - keep_symlinks: True
`,
  'app/managed.jinja':
    "{% import_yaml 'app/map.yaml' as map %}{{ word }} {{ grains['id'] }} {{ map.key }}\n",
  'app/map.yaml': 'key: mapped\n',
  'app/script.sh': '#!/bin/sh\nprintf ran > "$1"\n',
  'app/tree/one': 'one\n',
  'app/tree/deep/ünï': 'two\n',
  '_modules/brine_probe.py': 'def answer():\n    return __opts__["id"]\n',
  '_grains/brine_probe.py': 'def main():\n    return {"brine_probe": "synced"}\n',
  'only.txt': 'plain\n',
  'orch/ghost_list.sls': withGhost('list', `${idOf(NEW)},ghost`),
  'orch/ghost_compound.sls': withGhost('compound', `L@${idOf(NEW)},ghost`),
  'orch/hard.sls': `one-after-the-other:
  salt.state:
    - tgt: 'files-*'
    - sls: failing
    - batch: 1
    - failhard: True
after:
  test.nop: []
`,
  'changing.sls': 'changing:\n  test.succeed_with_changes: []\n',
  'failing.sls': 'failing:\n  test.fail_without_changes: []\n',
  ...Object.fromEntries(
    IDS.map((id) => [
      `of/${id.replaceAll('.', '_')}.sls`,
      `named:\n  test.nop:\n    - name: ${id}\n`,
    ]),
  ),
};

/** Prints one class, named for the minion: its last argument. A dot would be a directory. */
const EXT_NODES = `sh -c 'echo "classes: [of.$(echo "$1" | tr . _)]"' --`;
const classOf = (id: string): string => id.replaceAll('.', '_');
const LATE_MODULE = 'def answer():\n    return "late"\n';

/** The latest may call one function at itself alone. */
const PEER = { 'files-3008.*': ['test\\..*', { 'files-3008.*': ['grains.get'] }] };

let master: BrineMaster;
let outOf: (id: string) => string;

beforeAll(async () => {
  const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
  master = await BrineMaster.start(
    {
      peer: PEER,
      peer_run: { 'files-3008.*': ['manage\\.'] },
      master_tops: { ext_nodes: EXT_NODES },
      nodegroups: { old: `${idOf(OLD)} or nobody`, latest: `L@${idOf(NEW)}` },
      file_recv: true,
      file_recv_max_size: 2,
      timeout: 15,
      brine: { workers: 2 },
    },
    { onHome: ({ configDir }) => writeTree(join(configDir, 'files')) },
  );
  outOf = (id) => join(master.sandbox.dir, `out-${id}`);
  for (const [index, version] of VERSIONS.entries()) {
    const venv = venvs[index] as SaltVenv;
    const id = idOf(version);
    await mkdir(outOf(id));
    const grains = { brine_out: outOf(id) };
    const home = await master.sandbox.minion(id, master.home.retPort, { grains });
    master.sandbox.startMinion(venv, home);
  }
  await master.acceptKeys(IDS, 120_000);
  await master.waitForMinions(IDS, 180_000);
});
afterAll(async () => {
  await master.close();
});

async function writeTree(root: string): Promise<void> {
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content);
  }
  await mkdir(join(root, 'app/tree/empty'));
  await symlink('one', join(root, 'app/tree/link'));
}

async function salt(...args: string[]): Promise<Answers> {
  const all = [...args, '--static', '--out', 'json', '-t', '570'];
  const { stdout } = await master.brine('salt', all, 600_000);
  return JSON.parse(stdout) as Answers;
}
const all = (value: (id: string) => unknown): Answers =>
  Object.fromEntries(IDS.map((id) => [id, value(id)]));
const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

it('files are listed, hashed, cached and fetched', async () => {
  const listed = Object.keys(FILES).concat('app/tree/link').sort();
  const asked = [
    ['cp.list_master'],
    ['cp.list_master_symlinks'],
    ['cp.hash_file', 'salt://only.txt'],
    ['cp.get_file_str', 'salt://only.txt'],
    ['cp.cache_file', 'salt://app/tree/deep/ünï'],
  ];
  const functions = asked.map(([fun]) => fun).join(',');
  const words = asked.flatMap(([, ...args], at) => (at === 0 ? args : [',', ...args]));
  const answers = await salt('*', functions, ...words);
  for (const id of IDS) {
    const answer = answers[id] as Answers;
    expect(answer).toMatchObject({
      'cp.list_master': listed,
      'cp.list_master_symlinks': { 'app/tree/link': 'one' },
      'cp.hash_file': { hash_type: 'sha256', hsum: sha256('plain\n') },
      'cp.get_file_str': 'plain\n',
    });
    expect(await readFile(String(answer['cp.cache_file']), 'utf8')).toBe('two\n');
  }
  expect(await salt('*', 'cp.hash_file', 'salt://nope.txt')).toEqual(all(() => ''));
  const place = "{{ grains['brine_out'] }}";
  const get = ['cp.get_file', 'salt://app/init.sls', `${place}/zipped`];
  expect(await salt('*', ...get, 'template=jinja', 'gzip=5')).toEqual(
    all((id) => join(outOf(id), 'zipped')),
  );
  await salt('*', 'cp.get_dir', 'salt://app/tree', `${place}/dir`, 'template=jinja');
  for (const id of IDS) {
    expect(await readFile(join(outOf(id), 'zipped'), 'utf8')).toBe(FILES['app/init.sls']);
    expect(await readFile(join(outOf(id), 'dir/tree/deep/ünï'), 'utf8')).toBe('two\n');
  }
});

it('a highstate runs, first as a test, then for real, then without changes', async () => {
  const run = async (...args: string[]): Promise<Record<string, StateResult[]>> => {
    const answers = await salt('*', 'state.apply', ...args);
    return Object.fromEntries(
      Object.entries(answers).map(([id, states]) => {
        if (Array.isArray(states)) throw new Error(`${id}: ${states.join('\n')}`);
        return [id, Object.values(states as Record<string, StateResult>)];
      }),
    );
  };
  for (const states of Object.values(await run('test=True'))) {
    expect(states.map(({ result }) => result)).toEqual([null, null, null, true]);
  }
  for (const states of Object.values(await run())) {
    expect(states.map(({ result }) => result)).toEqual([true, true, true, true]);
  }
  for (const id of IDS) {
    expect(await readFile(join(outOf(id), 'managed'), 'utf8')).toBe(`templated ${id} mapped\n`);
    expect(await readFile(join(outOf(id), 'scripted'), 'utf8')).toBe('ran');
    expect(await readFile(join(outOf(id), 'tree/deep/ünï'), 'utf8')).toBe('two\n');
  }
  for (const states of Object.values(await run())) {
    const changed = states.filter(({ changes }) => Object.keys(changes).length > 0);
    // A script runs each time.
    expect(changed).toHaveLength(1);
  }
});

it('modules are synced and called, a changed file is seen at once', async () => {
  // The highstate synced what was there.
  expect(await salt('*', 'brine_probe.answer')).toEqual(all((id) => id));
  await writeFile(join(master.home.configDir, 'files/_modules/brine_late.py'), LATE_MODULE);
  const synced = await salt('*', 'saltutil.sync_all');
  for (const id of IDS) {
    expect(synced[id]).toMatchObject({ modules: ['modules.brine_late'] });
  }
  expect(await salt('*', 'brine_late.answer')).toEqual(all(() => 'late'));
  await writeFile(join(master.home.configDir, 'files/only.txt'), 'other\n');
  expect(await salt('*', 'cp.get_file_str', 'salt://only.txt')).toEqual(all(() => 'other\n'));
});

it('files are pushed to the master, and not beyond file_recv_max_size', async () => {
  const content = randomBytes(1_500_000);
  const push = async (id: string): Promise<void> => {
    const path = join(outOf(id), 'pushed');
    await writeFile(path, content);
    expect(await salt(id, 'cp.push', path)).toEqual({ [id]: true });
    const stored = join(master.home.cacheDir, 'minions', id, 'files', path);
    expect(sha256(await readFile(stored))).toBe(sha256(content));
    await writeFile(path, Buffer.alloc(3 * 1024 * 1024));
    expect(await salt(id, 'cp.push', path)).toEqual({ [id]: false });
  };
  await Promise.all(IDS.map(push));
});

it('the mine holds what minions send, also for those that allow_tgt names', async () => {
  expect(await salt('*', 'mine.send', 'test.ping')).toEqual(all(() => true));
  await salt(
    '*',
    'mine.send',
    'guarded',
    'mine_function=test.echo',
    'text=x',
    'allow_tgt=files-3008*',
  );
  const everybody = all(() => true);
  expect(await salt('*', 'mine.get', '*', 'test.ping')).toEqual(all(() => everybody));
  const guarded = await salt('*', 'mine.get', 'files-3006*', 'guarded');
  expect(guarded).toEqual(all((id) => (id === idOf(NEW) ? { [idOf(OLD)]: 'x' } : {})));
  expect(await salt('*', 'mine.delete', 'test.ping')).toEqual(all(() => true));
  expect(await salt('*', 'mine.get', '*', 'test.ping')).toEqual(all(() => ({})));
  expect(await salt('*', 'mine.flush')).toEqual(all(() => true));
});

it('minions publish to each other as far as peer lets them', async () => {
  const [others, old = '', latest = ''] = [IDS.slice(0, -1), IDS.at(0), IDS.at(-1)];
  const published = await salt(latest, 'publish.publish', '*', 'test.echo', 'hello', 'timeout=60');
  expect(published).toEqual({ [latest]: all(() => 'hello') });
  const keyword = [
    'publish.publish',
    `L@${others.join(',')}`,
    'test.kwarg',
    'arg=a=1',
    'tgt_type=compound',
  ];
  const answers = (await salt(latest, ...keyword, 'timeout=60'))[latest] as Answers;
  expect(Object.keys(answers).sort()).toEqual(others);
  expect(answers[old]).toMatchObject({ a: 1 });
  const full = await salt(latest, 'publish.full_data', old, 'test.ping', 'timeout=60');
  expect(full).toMatchObject({ [latest]: { [old]: { ret: true } } });
  expect(await salt(latest, 'publish.publish', '*', 'cmd.run', 'id')).toEqual({ [latest]: {} });
  expect(await salt(old, 'publish.publish', '*', 'test.ping')).toEqual({ [old]: {} });
  const run = await salt('*', 'publish.runner', 'manage.up');
  expect(run).toEqual(all((id) => (id === latest ? IDS : {})));
});

it('a minion publishes to a nodegroup in a compound, which gives it no right', async () => {
  const [old, latest] = [idOf(OLD), idOf(NEW)];
  const publish = (from: string, target: string, ...call: string[]): Promise<Answers> =>
    salt(from, 'publish.publish', target, ...call, 'tgt_type=compound', 'timeout=60');
  const found = await publish(latest, 'N@old and files-*', 'test.echo', 'hi');
  expect(found).toEqual({ [latest]: { [old]: 'hi' } });
  const own = await publish(latest, `N@latest and ${latest}`, 'grains.get', 'id');
  expect(own).toEqual({ [latest]: { [latest]: latest } });
  const refused: [from: string, target: string, ...call: string[]][] = [
    [latest, 'N@old and files-*', 'cmd.run', 'id'],
    [latest, 'N@old', 'grains.get', 'id'],
    [latest, 'N@absent or files-*', 'test.echo', 'hi'],
    [old, 'N@old', 'test.echo', 'hi'],
  ];
  for (const [from, ...asked] of refused) {
    expect([asked, await publish(from, ...asked)]).toEqual([asked, { [from]: {} }]);
  }
});

it.each(['list', 'compound'])(
  'an orchestration misses a minion of a %s that is not there',
  async (kind) => {
    const args = ['state.orchestrate', `orch.ghost_${kind}`, '--out', 'json'];
    const { code, stdout } = await master.brine('run', args, 300_000);
    expect(code, stdout).toBe(1);
    expect(stdout).toContain('Run failed on minions: ghost');
    expect(stdout).toMatch(/"ghost": false/);
    expect(stdout).toContain(`"${idOf(NEW)}": {`);
  },
);

it('an orchestration whose batch ends at a failed state ends with 1, each time', async () => {
  const times: number[] = [];
  for (let run = 0; run < sized({ change: 1, release: 3, nightly: 10 }); run += 1) {
    const args = ['state.orchestrate', 'orch.hard', '--out', 'json'];
    const { code, stdout, ms } = await master.brine('run', args, 300_000);
    expect(code, stdout).toBe(1);
    expect(stdout).toContain('Run failed on minions: files-');
    // The failure of one keeps the state from the others.
    expect(stdout).not.toContain('"__id__": "after"');
    expect(stdout.match(/"test_\|-failing_\|-failing_\|-fail_without_changes"/g)).toHaveLength(1);
    times.push(Math.round(ms));
  }
  process.stderr.write(`orchestrations that failed: at most ${Math.max(...times)} ms\n`);
}, 600_000);

it('states of ext_nodes stand beside those of the top file', async () => {
  expect(await salt('*', 'state.show_top')).toEqual(
    all((id) => ({ base: ['app', `of.${classOf(id)}`] })),
  );
});

it('minions fetch a large file at once, and the workers stay small', async () => {
  const content = Buffer.alloc(BIG_BYTES);
  for (let at = 0; at < BIG_BYTES; at += 1024 * 1024) randomBytes(4096).copy(content, at);
  await writeFile(join(master.home.configDir, 'files/big.bin'), content);
  const workers = (await master.services()).filter(({ name }) => name.startsWith('worker-pool'));
  const pids = workers.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  expect(pids).toHaveLength(2);
  const before = await Promise.all(pids.map(rssOf));
  const peaks = [...before];
  let isDone = false;
  // A worker that dies meanwhile fails the test by its missing file.
  const watching = (async () => {
    for (; !isDone; await loadPauses(250)) {
      const now = await Promise.all(pids.map(rssOf));
      for (const [index, rss] of now.entries()) peaks[index] = Math.max(peaks[index] ?? 0, rss);
    }
  })();
  const fetches = IDS.map((id) =>
    salt(id, 'cp.get_file', 'salt://big.bin', join(outOf(id), 'big.bin')),
  );
  const fetched = await Promise.all(fetches);
  isDone = true;
  await watching;
  expect(fetched).toEqual(IDS.map((id) => ({ [id]: join(outOf(id), 'big.bin') })));
  const want = sha256(content);
  for (const id of IDS) expect(sha256(await readFile(join(outOf(id), 'big.bin')))).toBe(want);
  const growth = peaks.map((peak, index) => peak - (before[index] ?? 0));
  process.stderr.write(
    `growth of the workers: ${growth.map((bytes) => `${bytes >> 20} MiB`).join(', ')}\n`,
  );
  for (const bytes of growth) expect(bytes).toBeLessThan(GROWTH_MAX_BYTES);
}, 600_000);

/** Resident memory of a process, in bytes. */
async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

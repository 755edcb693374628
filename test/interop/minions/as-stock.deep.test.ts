import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { saltVenv, type SaltVersion } from '@brine/testing';
import { expect, it } from 'vitest';
import {
  type Answers,
  type AnyMaster,
  askAll,
  brineMaster,
  type MasterSetup,
  startMinions,
  stockMaster,
  timeless,
  writeTree,
} from './any-master.ts';
import { MASTER, PILLAR, STATES } from './as-stock-roots.ts';
import { LAST_STEPS, STEPS } from './as-stock-steps.ts';

/*
 * Stock minions do the same at a Brine master as at a stock master of 3008.2 with the same roots.
 * What they did there is kept in test/fixtures/as-stock; with BRINE_AS_STOCK=record a stock master
 * is started and the record made again. Two releases are asked, with BRINE_AS_STOCK=all, or
 * record-all, three.
 */

const MODE = process.env['BRINE_AS_STOCK'] ?? '';
const VERSIONS: readonly SaltVersion[] = MODE.endsWith('all')
  ? ['3006.26', '3007.13', '3008.2']
  : ['3006.26', '3008.2'];
const RECORD = new URL(`../../fixtures/as-stock/${VERSIONS.length}.json`, import.meta.url);
const MINIONS = new Map(VERSIONS.map((version) => [`as-stock-${version}`, version]));
const IDS = [...MINIONS.keys()];

/** Ends when each minion has sent an event of its beacon and a return of its schedule. */
const LISTENER = `
import json, sys
import salt.config, salt.utils.event
sock_dir, ids = sys.argv[1], sys.argv[2:]
opts = salt.config.master_config("/dev/null")
opts["sock_dir"] = sock_dir
wanted = {(kind, one) for kind in ("beacon", "schedule") for one in ids}
seen = {}
with salt.utils.event.get_event("master", sock_dir=sock_dir, opts=opts, listen=True) as bus:
    assert bus.connect_pub(timeout=30)
    print("listening", flush=True)
    while wanted - set(seen):
        event = bus.get_event(wait=120, full=True)
        assert event, "missing: %r" % (wanted - set(seen))
        tag, data = event["tag"], event["data"]
        if tag.startswith("salt/beacon/"):
            seen[("beacon", data["id"])] = [tag, sorted(data)]
        elif "/ret/" in tag and data.get("schedule") == "said":
            keys = ("fun", "fun_args", "return", "retcode", "success", "cmd", "schedule")
            seen[("schedule", data["id"])] = {key: data.get(key) for key in keys}
print(json.dumps({" ".join(key): seen[key] for key in sorted(seen) if key in wanted}))
`;

const SETUP: MasterSetup = {
  config: MASTER,
  environments: ['base', 'broken'],
  async writeRoots({ configDir }) {
    await writeTree(join(configDir, 'files'), STATES);
    await mkdir(join(configDir, 'files/app/tree/empty'));
    await writeTree(join(configDir, 'pillar'), PILLAR);
  },
};

/** Listens for events; the promise within ends when all came. */
async function listen(master: AnyMaster): Promise<{ readonly seen: Promise<Answers> }> {
  const venv = await saltVenv('3008.2');
  const child = spawn(venv.python, ['-c', LISTENER, master.eventDir, ...IDS], {
    env: master.sandbox.env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errors = text(child.stderr);
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const listening = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  await Promise.race([listening, ended]);
  const seen = ended.then(async () => {
    const [first, last = ''] = printed.trim().split('\n');
    if (first !== 'listening' || last === '') throw new Error(await errors);
    return JSON.parse(last) as Answers;
  });
  // It is awaited later.
  seen.catch(() => undefined);
  return { seen };
}

/** All that is asked of the minions of a master, places and times left out. */
async function scenario(master: AnyMaster): Promise<Record<string, unknown>> {
  await startMinions(master, MINIONS);
  const done: Record<string, unknown> = {};
  const { seen } = await listen(master);
  for (const { name, words } of STEPS) done[name] = await askAll(master, words);
  done['seen'] = await seen;
  for (const { name, words } of LAST_STEPS) done[name] = await askAll(master, words);
  return timeless(done, master.sandbox.dir) as Record<string, unknown>;
}

const RECORDS = MODE.startsWith('record');

it('minions of a Brine master do what those of a stock master do', async () => {
  const master = await (RECORDS ? stockMaster(SETUP) : brineMaster(SETUP));
  try {
    const done = await scenario(master);
    if (RECORDS) {
      await mkdir(new URL('.', RECORD), { recursive: true });
      await writeFile(RECORD, `${JSON.stringify(done, undefined, 1)}\n`);
    }
    const recorded = JSON.parse(await readFile(RECORD, 'utf8')) as Record<string, unknown>;
    expect(Object.keys(done)).toEqual(Object.keys(recorded));
    for (const [name, answers] of Object.entries(recorded)) {
      expect.soft(done[name], name).toEqual(answers);
    }
  } finally {
    await master.close();
  }
}, 1_800_000);

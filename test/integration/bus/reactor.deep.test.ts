// Events in a row while the parts of the reactor are killed: each reaction is done, none twice.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bus, connectBus, handleEach, readerLags } from '@brine/bus';
import { EventReader, EventWriter } from '@brine/bus/events';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import { mapOf, pack, textOf, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakableNats } from '../faults/breakable-nats.ts';

/** 10,000 for a long run. */
const EVENTS = Number(process.env['BRINE_REACTIONS'] ?? sized({ change: 600, release: 1_500 }));
const PROCESSES = 3;
const PREFIX = 'react-';
const MINIONS = 4;
/** Events on their way to the stream at once. */
const AT_ONCE = 32;
/** All reactions are done within this after the last event, ms. */
const DONE_MS = 900_000;
/** The jobs of all are in the job cache within this after that, ms. */
const STORED_MS = 60_000;
/** A killed worker's reactions go to others after the wait of the queue, ms. */
const FAILOVER_MS = 60_000;

/** A job for a minion by turns; its argument is the number of the event. */
const SLS = [
  'call:',
  '  local.test.ping:',
  `    - tgt: ${PREFIX}{{ '%05d' | format(data['n'] % ${MINIONS}) }}`,
  '    - metadata:',
  "        n: {{ data['n'] }}",
].join('\n');

interface Line {
  readonly e: string;
  readonly jid: string;
  readonly id: string;
}

describe('a reactor of three workers while its parts are killed', () => {
  let nats: BreakableNats;
  let master: BrineMaster;
  let swarm: Swarm;
  let bus: Bus;
  let log: string;

  beforeAll(async () => {
    nats = await BreakableNats.start();
    master = await BrineMaster.start(
      {
        reactor: [{ 'storm/*': ['salt://react.sls'] }],
        brine: { runners: PROCESSES, nats: { url: nats.url } },
      },
      {
        onHome: async ({ configDir }) => {
          await mkdir(join(configDir, 'files'), { recursive: true });
          await writeFile(join(configDir, 'files', 'react.sls'), `${SLS}\n`);
        },
      },
    );
    log = join(master.sandbox.dir, 'swarm.jsonl');
    swarm = await Swarm.start({
      retPort: master.home.retPort,
      minions: MINIONS,
      idPrefix: PREFIX,
      keyPairs: 4,
      pkiDir: master.home.pkiDir,
      behaviours: [{ share: 1, delayMs: 5 }],
      log,
    });
    await swarm.connect();
    bus = await connectBus({ url: nats.url, name: 'event-bus', connectTimeoutMs: 10_000 });
  }, 600_000);
  afterAll(async () => {
    await bus?.close();
    await swarm?.close();
    await master?.close();
    await nats?.[Symbol.asyncDispose]();
  });

  /** Job ids by the number of their event, as the job cache has them. */
  async function jobsByEvent(): Promise<Map<number, string[]>> {
    const args = ['jobs.list_jobs', 'search_function=test.ping', '--out', 'json'];
    const { stdout } = await master.brine('run', args, 180_000);
    const jobs = (stdout.startsWith('{') ? JSON.parse(stdout) : {}) as Record<
      string,
      { readonly Metadata?: { readonly n?: number } }
    >;
    const found = new Map<number, string[]>();
    for (const [jid, { Metadata }] of Object.entries(jobs)) {
      if (Metadata?.n === undefined) continue;
      found.set(Metadata.n, [...(found.get(Metadata.n) ?? []), jid]);
    }
    return found;
  }

  /** Whether each event has been matched, and each reaction ended. */
  async function isOver(): Promise<boolean> {
    const lags = await readerLags(bus);
    const own = lags.filter(({ stream, reader }) => stream === 'REACTIONS' || reader === 'reactor');
    return (
      own.length >= 2 && own.every(({ pending, unacknowledged }) => pending + unacknowledged === 0)
    );
  }

  async function lines(): Promise<readonly Line[]> {
    const text = await readFile(log, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  }

  /** Fires an event however long NATS is away. */
  async function fire(n: number): Promise<void> {
    const writer = new EventWriter(bus, { timeoutMs: 120_000 });
    const body = pack(mapOf({ n }));
    await writer.append({ kind: 'local', tag: `storm/${n}`, body, msgId: `storm:${n}` });
  }

  async function killWorker(): Promise<void> {
    const pids = (await master.services())
      .filter(({ name, pid }) => name.startsWith('runner-pool') && pid !== undefined)
      .map(({ pid }) => Number(pid));
    process.kill(pids[Math.floor(Math.random() * pids.length)] ?? NaN, 'SIGKILL');
  }

  it('each reaction is done, and none twice', async () => {
    const beganMs = Date.now();
    const faults = new Map<number, () => Promise<void>>([
      [Math.floor(EVENTS * 0.3), killWorker],
      [
        Math.floor(EVENTS * 0.5),
        async () => {
          await nats.kill();
          await nats.again();
        },
      ],
      [Math.floor(EVENTS * 0.7), killWorker],
    ]);
    const inFlight = new Set<Promise<void>>();
    const faulting: Promise<void>[] = [];
    for (let n = 0; n < EVENTS; n += 1) {
      const fault = faults.get(n);
      if (fault !== undefined) faulting.push(fault());
      const firing = fire(n).finally(() => inFlight.delete(firing));
      inFlight.add(firing);
      if (inFlight.size >= AT_ONCE) await Promise.race(inFlight);
    }
    await Promise.all([...inFlight, ...faulting]);
    const firedMs = Date.now() - beganMs;

    // Reactions, then what the store has to write.
    await until('nothing is left to do', isOver, { withinMs: DONE_MS });
    const doneMs = Date.now() - beganMs;
    let jobs = new Map<number, string[]>();
    await until(
      'every event has its job',
      async () => {
        jobs = await jobsByEvent();
        expect(jobs.size).toBe(EVENTS);
        return true;
      },
      { withinMs: STORED_MS },
    );
    const { failed, waiting } = await failures();
    expect(failed).toEqual([]);
    expect(waiting).toBe(0);
    const twice = [...jobs].filter(([, jids]) => jids.length > 1);
    expect(twice).toEqual([]);
    expect([...jobs.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: EVENTS }, (_, n) => n),
    );

    process.stdout.write(
      `reactor: ${EVENTS} events in ${firedMs} ms, all done after ${doneMs} ms, ` +
        `${twice.length} twice\n`,
    );

    // On the minions, as far as the rig keeps up with its log: no job began twice either.
    const all = await lines();
    const began = all.filter(({ e }) => e === 'received').map(({ jid }) => jid);
    expect(began.length).toBeGreaterThan(EVENTS / 2);
    expect(new Set(began).size).toBe(began.length);
    expect(new Set(all.filter(({ e }) => e === 'sent').map(({ id }) => id))).toEqual(
      new Set(Array.from({ length: MINIONS }, (_, at) => minionId(PREFIX, at))),
    );
  }, 1_800_000);

  it('an orchestration whose worker is killed goes on, under the job id that it had', async () => {
    const files = join(master.home.configDir, 'files');
    const step = (at: number): string =>
      [
        `step${at}:`,
        '  salt.runner:',
        '    - name: test.sleep',
        '    - s_time: 2',
        `    - order: ${at + 1}`,
      ].join('\n');
    const steps = Array.from({ length: 6 }, (_, at) => step(at));
    await writeFile(join(files, 'steps.sls'), `${steps.join('\n')}\n`);
    const long = ['long:', '  runner.state.orchestrate:', '    - args:', '      - mods: steps'];
    await writeFile(join(files, 'long.sls'), `${long.join('\n')}\n`);
    const add = ['reactor.add', 'long/*', 'reactors=salt://long.sls'];
    expect((await master.brine('run', add)).code).toBe(0);

    const begun: string[] = [];
    const reader = new EventReader(bus, { kinds: ['local'] });
    const reading = handleEach(reader, async (event) => {
      const data = unpackMap(await event.fetch());
      const isBegin = /^salt\/run\/\d{20}\/new$/.test(event.tag);
      if (isBegin && data.get('fun') === 'runner.state.orchestrate') {
        begun.push(textOf(data, 'jid') ?? '');
      }
    });
    await until('events are read', () => reader.reading);
    const body = pack(mapOf({}));
    await new EventWriter(bus).append({ kind: 'local', tag: 'long/1', body, msgId: 'long:1' });
    await until('the orchestration runs', () => begun.length === 1, { withinMs: FAILOVER_MS });
    for (const { name, pid } of await master.services()) {
      if (name.startsWith('runner-pool') && pid !== undefined) process.kill(Number(pid), 'SIGKILL');
    }
    const [jid = ''] = begun;
    await until(
      'its result is stored, under the same job id',
      async () => {
        const { stdout } = await master.brine('run', ['jobs.lookup_jid', jid, '--out', 'json']);
        return stdout.includes('step5');
      },
      { withinMs: FAILOVER_MS * 2 },
    );
    await until('the reaction is over', async () => (await failures()).waiting === 0, {
      withinMs: FAILOVER_MS,
    });
    reader.close();
    await reading;
    // Begun again by no other worker.
    expect(new Set(begun)).toEqual(new Set([jid]));
  }, 400_000);

  async function failures(): Promise<{ readonly failed: unknown[]; readonly waiting: number }> {
    const { stdout } = await master.brine('run', ['reactor.failed', '--out', 'json']);
    return JSON.parse(stdout) as { failed: unknown[]; waiting: number };
  }
});

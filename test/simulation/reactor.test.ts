import { Bucket, Bus, ensureStreams } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { ReactionQueue } from '@brine/bus/reactions';
import { SecretBox } from '@brine/crypt';
import { react, ReactorMap, type ReactPorts } from '@brine/reactor';
import { vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import {
  type QueuedWork,
  QueueWork,
  type WorkEnd,
} from '../../libs/cluster-work/src/queue/queue-work.ts';
import { Matching } from '../../libs/duties/src/reactor/matching.ts';
import { ReactorState } from '../../libs/duties/src/reactor/reactor-state.ts';
import type { SimConnection } from './world/nats/connection.ts';
import { SimNats } from './world/nats/server.ts';
import { Random } from './world/random.ts';
import { VirtualTime } from './world/virtual-time.ts';

/*
 * Workers that match events and react to them, while they and NATS are killed: each reaction is
 * done, each of its calls has one job id, none is made again after its end was kept, and the queue
 * is empty in the end.
 */

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const BOX = SecretBox.fromMasterKey(keys[0]!.pem, 'reactor');

const SEEDS = 12;
const WORKERS = 3;
const EVENTS = 150;
/** Events are fired within this, ms. */
const FIRED_MS = 60_000;
/** After the last fault all is done within this: a dead worker's work waits for 30 s. */
const SETTLE_MS = 300_000;
/** NATS loses what it knew of acknowledgements for so long before it is killed, ms. */
const FORGETS_MS = 4_000;
const MAP = new ReactorMap([mapOf({ 'my/*': ['/a.sls'] })]);

interface Made {
  readonly jid: string;
  readonly n: SaltValue;
}

class Worker {
  readonly #world: World;
  readonly #connection: SimConnection;
  readonly #matching: Matching;
  readonly #work: QueueWork;
  readonly #state: ReactorState;
  isDead = false;

  constructor(world: World) {
    this.#world = world;
    this.#connection = world.nats.connect('worker');
    const bus = world.busOf(this.#connection);
    this.#state = new ReactorState(new Bucket(bus, 'brine_reactor'), BOX);
    const quiet = (): void => undefined;
    const wanted = { map: MAP, isLeader: true };
    this.#matching = new Matching(
      {
        bus,
        queue: new ReactionQueue(bus),
        maxEventSize: 0,
        onTrouble: quiet,
        manage: () => Promise.resolve(false),
        count: quiet,
        onRelief: quiet,
      },
      wanted,
    );
    const begin = (): void => {
      if (this.isDead) return;
      this.#matching.want(wanted).catch(() => world.time.after(500, begin));
    };
    begin();
    this.#work = new QueueWork({
      bus,
      kind: 'event',
      atOnce: 4,
      onTrouble: quiet,
      work: (work) => this.#react(work),
    });
  }

  /** As kill -9: nothing that it does from now on is seen. */
  kill(): void {
    this.isDead = true;
    this.#connection.end(undefined);
    void this.#matching.close();
    void this.#work.close();
  }

  async #react({ id, name, data, deliveries }: QueuedWork): Promise<WorkEnd> {
    const { time, random, made, failures, kept, repeated } = this.#world;
    const alive = async (ms: number): Promise<void> => {
      await time.sleep(ms);
      if (this.isDead) await new Promise(() => undefined);
    };
    const ports: ReactPorts = {
      filesFor: (tag) => MAP.filesFor(tag),
      find: async (path) => [{ path }],
      render: async () => {
        await alive(random.between(1, 20));
        return new Map<SaltValue, SaltValue>([
          ['job', mapOf({ 'local.test.ping': [mapOf({ tgt: '*' })] })],
          ['run', mapOf({ 'runner.manage.up': [] })],
        ]);
      },
      signatureOf: async () => ({ parameters: [] }),
      plans: {
        load: (of) => this.#state.load(of),
        save: async (of, plan, revision) => {
          const saved = await this.#state.save(of, plan, revision);
          if (saved === undefined) return undefined;
          for (const [at, call] of plan.calls.entries()) if (call.done) kept.add(`${of}/${at}`);
          return saved;
        },
      },
      newJid: async () => `jid${this.#world.nextJid()}`,
      call: async ({ key, jid }) => {
        if (kept.has(key)) repeated.push(key);
        await alive(random.between(1, 3_000));
        made.set(key, [...(made.get(key) ?? []), { jid, n: data.get('n') ?? null }]);
        await alive(random.between(1, 200));
      },
      failed: async (failed) => void failures.push(failed),
      note: () => undefined,
      pause: async (ms) => {
        await alive(ms);
        return true;
      },
    };
    const end = await react({ id, tag: name, data, deliveries }, ports);
    // From here on the end of all of it counts as kept.
    if (end === 'over') for (const at of [0, 1]) kept.add(`${id}/${at}`);
    return end;
  }
}

class World {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly nats: SimNats;
  readonly made = new Map<string, Made[]>();
  readonly failures: object[] = [];
  /** Keys of calls whose end is in the bucket, or was told. */
  readonly kept = new Set<string>();
  /** Of these, calls that were made again. */
  readonly repeated: string[] = [];
  #jid = 0;

  constructor(time: VirtualTime, random: Random) {
    this.time = time;
    this.random = random;
    this.nats = new SimNats(time, random.fork());
  }

  nextJid(): number {
    return (this.#jid += 1);
  }

  busOf(connection: SimConnection): Bus {
    return new Bus(connection.asClient, { url: '', name: 'worker-pool' }, {});
  }

  /** NATS is killed, and has lost what it knew of the last acknowledgements. */
  killNats(): void {
    const reader = this.nats.streams.consumer('EVENTS', 'reactor');
    const place = reader?.place;
    this.time.after(FORGETS_MS, () => {
      if (place !== undefined) reader?.restarted(undefined, place);
      this.nats.restart();
    });
  }
}

async function runSeed(seed: number): Promise<World> {
  const random = new Random(seed);
  const dice = random.fork();
  const time = new VirtualTime(() => dice.next());
  using _installed = time.install();
  const world = new World(time, random.fork());
  const bus = world.busOf(world.nats.connect('events'));
  let isOver = false;
  const story = async (): Promise<void> => {
    await ensureStreams(bus);
    const workers = Array.from({ length: WORKERS }, () => new Worker(world));
    for (let at = 4_000; at < FIRED_MS; at += random.between(1_000, 4_000)) {
      time.after(at, () => {
        if (random.chance(0.2)) return world.killNats();
        const index = Math.floor(random.between(0, WORKERS));
        workers[index]?.kill();
        time.after(random.between(200, 3_000), () => (workers[index] = new Worker(world)));
      });
    }
    await time.sleep(2_000);
    const writer = new EventWriter(bus, { timeoutMs: 60_000 });
    const firing = Array.from({ length: EVENTS }, async (_, n) => {
      await time.sleep(random.between(1, FIRED_MS));
      const body = pack(mapOf({ n }));
      await writer.append({ kind: 'local', tag: `my/${n}`, body, msgId: `my:${n}` });
    });
    await Promise.all(firing);
    await time.sleep(SETTLE_MS);
    isOver = true;
    for (const worker of workers) worker.kill();
  };
  const telling = story();
  await time.run(FIRED_MS * 3 + SETTLE_MS, () => isOver);
  await telling;
  return world;
}

/** Calls that were made again, and reactions that were in the queue, over all seeds. */
let [twice, queued] = [0, 0];

test.each(Array.from({ length: SEEDS }, (_, at) => at + 1))(
  'seed %i',
  async (seed) => {
    const { made, failures, repeated, nats } = await runSeed(seed);
    expect(failures).toEqual([]);
    expect(repeated).toEqual([]);
    twice += [...made.values()].filter((calls) => calls.length > 1).length;
    queued += nats.streams.stream('REACTIONS').lastSeq;
    const jids = [...made.values()].map((calls) => new Set(calls.map(({ jid }) => jid)).size);
    expect(new Set(jids)).toEqual(new Set([1]));
    // Two calls for each event, and no call of an event under two keys.
    const events = new Map<SaltValue, number>();
    for (const [one] of made.values())
      events.set(one?.n ?? null, (events.get(one?.n ?? null) ?? 0) + 1);
    expect(events.size).toBe(EVENTS);
    expect(new Set(events.values())).toEqual(new Set([2]));
    expect(nats.streams.stream('REACTIONS').messages.size).toBe(0);
  },
  60_000,
);

test('the faults met reactions: calls were cut off, and events queued twice', () => {
  expect(twice).toBeGreaterThan(SEEDS);
  expect(queued).toBeGreaterThan(SEEDS * EVENTS);
});

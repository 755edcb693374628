import type { ClientPlan } from './client.ts';
import type { Random } from './world/random.ts';

/** What a run does, all of it drawn from its seed. */
export interface Plan {
  readonly kind: PlanKind;
  readonly minions: number;
  readonly workers: number;
  readonly returners: number;
  readonly clients: readonly { readonly atMs: number; readonly plan: ClientPlan }[];
  readonly faults: readonly Fault[];
  readonly net: { readonly requests: number; readonly answers: number; readonly doubled: number };
  /** Share of the store's commits whose answer is lost. */
  readonly storeLost: number;
  /** Faults come until then; afterwards all is given time to settle. */
  readonly faultsUntilMs: number;
  /** All is watched for at least so long after the last client's end. */
  readonly calmMs: number;
}

/**
 * What may go wrong in a run; the fewer kinds of faults, the more must hold.
 * - `any`: whatever can be drawn; `calm`: nothing.
 * - `publisher`: only publishers die or are cut off, so that every minion gets every job.
 * - `worker`: one of two workers dies, so that every publish is answered soon.
 * - `alone`: the only worker dies and stays away for longer than a client waits for its answer.
 * - `slow`: only disk and store are slow, so that no request is tried a second time.
 * - `clock`: the clocks are stepped as well. `restore`: the streams are put back from a copy.
 * - `expiry`: a publisher is down, or cut off, for longer than publications live.
 * - `storm`: more jobs within seconds than a minion remembers.
 * - `purge`: the streams keep what all have read for a second only, and the store is away.
 */
export type PlanKind =
  | 'any'
  | 'calm'
  | 'publisher'
  | 'worker'
  | 'alone'
  | 'slow'
  | 'clock'
  | 'restore'
  | 'expiry'
  | 'storm'
  | 'purge';

/** Something that goes wrong. */
export type Fault =
  | { readonly atMs: number; readonly kind: 'kill' | 'stop'; readonly service: string }
  | {
      readonly atMs: number;
      readonly kind: 'cut' | 'stall' | 'down';
      readonly service: string;
      readonly ms: number;
    }
  | { readonly atMs: number; readonly kind: 'nats' }
  | { readonly atMs: number; readonly kind: 'store away' | 'clock' | 'full'; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'disk'; readonly ms: number; readonly slowMs: number }
  | { readonly atMs: number; readonly kind: 'restore'; readonly copiedAtMs: number }
  | { readonly atMs: number; readonly kind: 'minion kill' | 'minion cut'; readonly minion: number };

const FIRST_MS = 1_500;
const CLIENTS_UNTIL_MS = 16_000;
const FUNCTIONS = ['test.ping', 'test.ping', 'test.false', 'test.sleep'] as const;

/** Of a thousand runs. */
const KINDS: readonly (readonly [PlanKind, number])[] = [
  ['calm', 50],
  ['publisher', 130],
  ['slow', 60],
  ['clock', 80],
  ['restore', 60],
  ['expiry', 25],
  ['storm', 10],
  ['purge', 40],
  ['worker', 40],
  ['alone', 30],
];

/** Draws a run. */
export function drawPlan(random: Random): Plan {
  const kind = drawKind(random);
  const minions = random.between(2, 5);
  const workers = workersOf(random, kind);
  const returners = random.between(1, 2);
  const fleet = { minions, workers, returners };
  const faultsUntilMs = untilOf(random, kind);
  const faults = drawFaults(random, kind, fleet, faultsUntilMs);
  const isRough = kind === 'any' || kind === 'clock';
  const share = (most: number): number =>
    isRough && random.chance(0.5) ? random.next() * most : 0;
  const clients = drawClients(random, kind, minions, Math.min(faultsUntilMs, CLIENTS_UNTIL_MS));
  return {
    kind,
    ...fleet,
    clients,
    faults: faults ?? drawDeath(random, kind, clients),
    net: { requests: share(0.1), answers: share(0.2), doubled: share(0.2) },
    storeLost: share(0.3),
    faultsUntilMs,
    // Publications are sent again up to 12 s after a publisher's start.
    calmMs: random.chance(0.2) ? 14_000 : 1_000,
  };
}

/** `worker1`, `worker2`, … */
export function named(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index + 1}`);
}

function drawKind(random: Random): PlanKind {
  let draw = random.next() * 1_000;
  for (const [kind, share] of KINDS) {
    if (draw < share) return kind;
    draw -= share;
  }
  return 'any';
}

function workersOf(random: Random, kind: PlanKind): number {
  if (kind === 'alone') return 1;
  return kind === 'slow' || kind === 'worker' ? 2 : random.between(1, 2);
}

function untilOf(random: Random, kind: PlanKind): number {
  if (kind === 'expiry') return random.between(44_000, 50_000);
  return random.between(6_000, 16_000);
}

function drawClients(
  random: Random,
  kind: PlanKind,
  minions: number,
  untilMs: number,
): { atMs: number; plan: ClientPlan }[] {
  if (kind === 'storm') return drawStorm();
  const clients = Array.from({ length: random.between(2, 5) }, (_, index) => ({
    atMs: random.between(FIRST_MS, untilMs),
    plan: drawClient(random, `cli${index}`, minions),
  }));
  const first = clients[0]?.atMs ?? 0;
  // Two at the same moment ask for two job ids of the same moment; they wait for each other.
  if (kind !== 'worker' && kind !== 'alone' && random.chance(0.3))
    return clients.map((client) => ({ ...client, atMs: first }));
  return clients;
}

function drawClient(random: Random, name: string, minions: number): ClientPlan {
  const fun = random.pick(FUNCTIONS);
  const isList = random.chance(0.3);
  const ids = named('m', minions).filter(() => random.chance(0.6));
  return {
    name,
    fun,
    arg: fun === 'test.sleep' ? [random.between(1, 12)] : [],
    ...(isList && ids.length > 0 ? { tgt: ids, tgtType: 'list' } : { tgt: '*', tgtType: 'glob' }),
    ...(random.chance(0.3) ? { deadline: random.between(1, 6) } : {}),
    ...(random.chance(0.15) ? { batchSize: random.between(1, 2) } : {}),
  };
}

/** A long job, then more than the 100 that a minion remembers, while jobs are sent again. */
function drawStorm(): { atMs: number; plan: ClientPlan }[] {
  const one = { tgt: ['m1'], tgtType: 'list' } as const;
  const long = { name: 'long', fun: 'test.sleep', arg: [14], ...one };
  const storm = { name: 'storm', fun: 'test.ping', arg: [], ...one, times: 108 };
  return [
    { atMs: 900, plan: long },
    { atMs: 1_100, plan: storm },
  ];
}

interface Fleet {
  readonly minions: number;
  readonly workers: number;
  readonly returners: number;
}

function drawFaults(
  random: Random,
  kind: PlanKind,
  fleet: Fleet,
  untilMs: number,
): Fault[] | undefined {
  const at = (): number => random.between(FIRST_MS, untilMs);
  const several = (most: number): unknown[] => Array.from({ length: random.between(1, most) });
  switch (kind) {
    case 'calm':
    case 'storm':
      return [];
    case 'worker':
    case 'alone':
      return undefined;
    case 'publisher':
      return several(3).map(() =>
        random.chance(0.6)
          ? { atMs: at(), kind: 'kill', service: 'publisher' }
          : {
              atMs: at(),
              kind: random.pick(['cut', 'stall']),
              service: 'publisher',
              ms: random.between(200, 3_000),
            },
      );
    case 'slow':
      return several(3).map(() =>
        random.chance(0.7)
          ? { atMs: at(), kind: 'disk', ms: 4_000, slowMs: random.between(1_300, 2_200) }
          : { atMs: at(), kind: 'store away', ms: random.between(500, 4_000) },
      );
    case 'expiry':
      return [
        {
          atMs: at() % 6_000,
          kind: random.pick(['down', 'cut']),
          service: 'publisher',
          ms: 36_000,
        },
      ];
    case 'purge': {
      const atMs = random.between(FIRST_MS, untilMs - 3_000);
      return [
        { atMs, kind: 'store away', ms: 6_000 },
        // What they had in hand has to be delivered again.
        { atMs: atMs + 4_000, kind: 'kill', service: 'returner1' },
        { atMs: atMs + 4_000, kind: 'kill', service: 'returner2' },
      ];
    }
    case 'any':
    case 'clock':
    case 'restore': {
      const usual = several(7).map(() => drawFault(random, fleet, at()));
      const step = random.between(-6_000, 3_000);
      if (kind === 'clock') {
        const stepAtMs = at();
        // A service that starts just then learns only from the stream that the clock was ahead.
        const killAtMs = stepAtMs + random.between(100, 2_000);
        return [
          ...usual,
          { atMs: stepAtMs, kind: 'clock', ms: step },
          { atMs: killAtMs, kind: 'kill', service: 'publisher' },
        ];
      }
      if (kind === 'any') return usual;
      const atMs = random.between(5_000, untilMs);
      return [...usual, { atMs, kind: 'restore', copiedAtMs: random.between(1_500, atMs - 500) }];
    }
  }
}

/** A worker dies while it has a publish in hand, which the disk makes last. */
function drawDeath(
  random: Random,
  kind: PlanKind,
  clients: readonly { readonly atMs: number }[],
): Fault[] {
  const atMs = random.pick(clients).atMs + random.between(80, 220);
  const service = 'worker1';
  return [
    { atMs: 0, kind: 'disk', ms: CLIENTS_UNTIL_MS, slowMs: 60 },
    kind === 'alone'
      ? { atMs, kind: 'down', service, ms: random.between(2_500, 9_000) }
      : { atMs, kind: 'kill', service },
  ];
}

function drawFault(random: Random, fleet: Fleet, atMs: number): Fault {
  const { minions, workers, returners } = fleet;
  const service = random.pick([
    'gateway',
    'publisher',
    'event-bus',
    ...named('worker', workers),
    'runner',
    ...named('returner', returners),
  ]);
  const draw = random.next();
  if (draw < 0.3) return { atMs, kind: 'kill', service };
  if (draw < 0.4) return { atMs, kind: 'stop', service };
  if (draw < 0.52) return { atMs, kind: 'cut', service, ms: random.between(50, 3_000) };
  if (draw < 0.66) return { atMs, kind: 'stall', service, ms: random.between(200, 4_000) };
  if (draw < 0.73) return { atMs, kind: 'nats' };
  if (draw < 0.81) return { atMs, kind: 'store away', ms: random.between(500, 8_000) };
  if (draw < 0.86) return { atMs, kind: 'full', ms: random.between(300, 5_000) };
  if (draw < 0.91) {
    const slowMs = random.between(50, 3_000);
    return { atMs, kind: 'disk', ms: random.between(500, 6_000), slowMs };
  }
  const kind = random.chance(0.5) ? 'minion kill' : 'minion cut';
  return { atMs, kind, minion: random.between(0, minions - 1) };
}

import type { ClientPlan } from './client.ts';
import type { Random } from './random.ts';

/** What a run does, all of it drawn from its seed. */
export interface Plan {
  readonly minions: number;
  readonly workers: number;
  readonly returners: number;
  readonly clients: readonly { readonly atMs: number; readonly plan: ClientPlan }[];
  readonly faults: readonly Fault[];
  readonly net: { readonly requests: number; readonly answers: number; readonly doubled: number };
  readonly storeLost: number;
  /** Faults come until then; afterwards all is given time to settle. */
  readonly faultsUntilMs: number;
  /** All is watched for at least so long after the last client's end. */
  readonly calmMs: number;
}

/** Something that goes wrong. */
export type Fault =
  | { readonly atMs: number; readonly kind: 'kill'; readonly service: string }
  | { readonly atMs: number; readonly kind: 'cut'; readonly service: string; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'stall'; readonly service: string; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'nats' }
  | { readonly atMs: number; readonly kind: 'store away'; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'minion kill' | 'minion cut'; readonly minion: number };

const FIRST_MS = 1_500;
const FUNCTIONS = ['test.ping', 'test.ping', 'test.false', 'test.sleep'] as const;

/** Draws a run. */
export function drawPlan(random: Random): Plan {
  const minions = random.between(2, 5);
  const workers = random.between(1, 2);
  const returners = random.between(1, 2);
  const faultsUntilMs = random.between(6_000, 16_000);
  const services = [
    'gateway',
    'publisher',
    'event-bus',
    ...named('worker', workers),
    ...named('returner', returners),
  ];
  const isCalm = random.chance(0.1);
  const faults = isCalm ? [] : drawFaults(random, services, minions, faultsUntilMs);
  const clients = Array.from({ length: random.between(2, 5) }, (_, index) => ({
    atMs: random.between(FIRST_MS, faultsUntilMs),
    plan: drawClient(random, `cli${index}`, minions),
  }));
  const share = (most: number): number => (isCalm || random.chance(0.5) ? 0 : random.next() * most);
  return {
    minions,
    workers,
    returners,
    clients,
    faults,
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

function drawClient(random: Random, name: string, minions: number): ClientPlan {
  const fun = random.pick(FUNCTIONS);
  const isList = random.chance(0.3);
  const ids = named('m', minions).filter(() => random.chance(0.6));
  return {
    name,
    fun,
    arg: fun === 'test.sleep' ? [random.between(1, 8)] : [],
    ...(isList && ids.length > 0 ? { tgt: ids, tgtType: 'list' } : { tgt: '*', tgtType: 'glob' }),
    ...(random.chance(0.3) ? { deadline: random.between(1, 6) } : {}),
    ...(random.chance(0.15) ? { batchSize: random.between(1, 2) } : {}),
  };
}

function drawFaults(
  random: Random,
  services: readonly string[],
  minions: number,
  untilMs: number,
): Fault[] {
  return Array.from({ length: random.between(1, 7) }, () => {
    const atMs = random.between(FIRST_MS, untilMs);
    const service = random.pick(services);
    const draw = random.next();
    if (draw < 0.4) return { atMs, kind: 'kill', service };
    if (draw < 0.55) return { atMs, kind: 'cut', service, ms: random.between(50, 3_000) };
    if (draw < 0.7) return { atMs, kind: 'stall', service, ms: random.between(200, 4_000) };
    if (draw < 0.77) return { atMs, kind: 'nats' };
    if (draw < 0.87) return { atMs, kind: 'store away', ms: random.between(500, 8_000) };
    const kind = random.chance(0.5) ? 'minion kill' : 'minion cut';
    return { atMs, kind, minion: random.between(0, minions - 1) };
  });
}

import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Kinds of faults, as `--only` names them. */
export const FAULT_KINDS = ['kill', 'stop', 'cut', 'stall', 'refuse', 'full', 'partition'] as const;
/** A kind of fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Victims of SIGKILL or SIGSTOP: services by their app, and their servers. */
export const VICTIMS = [
  'req-gateway',
  'worker-pool',
  'runner-pool',
  'publisher',
  'event-bus',
  'job-cache-returner',
  'syndic-relay',
  'http-api',
  'nats',
  'postgres',
  'postgres-backend',
] as const;
/** A victim with a process; in a tree also the whole master above. */
export type Victim = (typeof VICTIMS)[number] | 'master-above';

/** Connections that lead through a proxy: services to NATS, the store, minions to both ports. */
export const LINKS = ['nats', 'postgres', 'publish', 'request'] as const;
/** A proxied way. */
export type Link = (typeof LINKS)[number];

/** Disks that can be full, each named for the service that writes on it. */
export const DISKS = ['nats', 'postgres'] as const;
/** One of them. */
export type Disk = (typeof DISKS)[number];

/** Wires that can be cut: services to NATS, the store to PostgreSQL, minions to both ports. */
export const WIRES = ['nats', 'postgres', 'minions'] as const;
/** One of them. */
export type Wire = (typeof WIRES)[number];

/** The blocked direction. */
export type Direction = 'both' | 'to-server' | 'to-client';

/** One fault; lasting ones have `ms`. */
export type Fault =
  | { readonly kind: 'kill'; readonly victim: Victim; readonly pick: number }
  | { readonly kind: 'stop'; readonly victim: Victim; readonly pick: number; readonly ms: number }
  /** Cuts one connection, or all without `pick`. */
  | { readonly kind: 'cut'; readonly link: Link; readonly pick?: number }
  | {
      readonly kind: 'stall';
      readonly link: Link;
      readonly direction: Direction;
      readonly ms: number;
    }
  /** Cuts all connections, and accepts no new one for a while. */
  | { readonly kind: 'refuse'; readonly link: Link; readonly ms: number }
  | { readonly kind: 'full'; readonly disk: Disk; readonly ms: number }
  /** Packets are lost, both ways. */
  | { readonly kind: 'partition'; readonly wire: Wire; readonly ms: number };

/** A fault and its time. */
export interface Step {
  readonly fault: Fault;
  /** After the recovery from the one before, in ms. */
  readonly pauseMs: number;
  /** True if it starts during the previous one, without a recovery between. */
  readonly together: boolean;
}

/** All faults of a run; the same seed makes the same plan. */
export interface Plan {
  readonly seed: number;
  readonly steps: readonly Step[];
}

/** Faults that are possible on an installation. */
export interface Possible {
  readonly kinds: readonly FaultKind[];
  readonly victims: readonly Victim[];
  readonly links: readonly Link[];
  readonly disks: readonly Disk[];
  readonly wires: readonly Wire[];
}

/** Longest times of faults, ms. After longer ones minions and services give up by design. */
const LASTS = {
  stop: [200, 9_000],
  stall: [200, 9_000],
  refuse: [200, 5_000],
  full: [500, 6_000],
  partition: [500, 9_000],
} as const;
const PAUSE_MS = [100, 1_500] as const;
/** Percentage of faults that start during another. */
const TOGETHER_PERCENT = 20;
/** Picks are parts of a thousand: of instances, or of connections. */
const PICKS = 1_000;
/** Maximum of faults of a run; a thousand take a day. */
const MAX_FAULTS = 100_000;

/**
 * Draws a plan. Throws RangeError if nothing is possible, or for more faults than a run can wait
 * for.
 */
export function makePlan(faults: number, seed: number, possible: Possible): Plan {
  if (!Number.isInteger(faults) || faults < 1 || faults > MAX_FAULTS) {
    throw new RangeError(`a plan has 1 to ${MAX_FAULTS} faults`);
  }
  const rng = xoroshiro128plus(seed);
  const draw = ([from, to]: readonly [number, number]): number => uniformInt(rng, from, to);
  const one = <T>(list: readonly T[]): T => {
    const found = list[draw([0, list.length - 1])];
    if (found === undefined) throw new RangeError('there is nothing to draw from');
    return found;
  };
  const kinds = possible.kinds.filter((kind) => objectsOf(kind, possible).length > 0);
  if (kinds.length === 0) throw new RangeError('no fault of these kinds is possible here');
  const steps = Array.from({ length: faults }, (_, index): Step => {
    const fault = drawFault(one(kinds), possible, { draw, one });
    const together = draw([1, 100]) <= TOGETHER_PERCENT && index > 0;
    return { fault, pauseMs: draw(PAUSE_MS), together };
  });
  return { seed, steps };
}

function objectsOf(kind: FaultKind, possible: Possible): readonly unknown[] {
  if (kind === 'kill' || kind === 'stop') return possible.victims;
  if (kind === 'full') return possible.disks;
  return kind === 'partition' ? possible.wires : possible.links;
}

interface Draws {
  readonly draw: (range: readonly [number, number]) => number;
  readonly one: <T>(list: readonly T[]) => T;
}

function drawFault(kind: FaultKind, possible: Possible, { draw, one }: Draws): Fault {
  const pick = (): number => draw([0, PICKS - 1]);
  switch (kind) {
    case 'kill':
      return { kind, victim: one(possible.victims), pick: pick() };
    case 'stop':
      return { kind, victim: one(possible.victims), pick: pick(), ms: draw(LASTS.stop) };
    case 'cut': {
      const link = one(possible.links);
      return draw([0, 1]) === 0 ? { kind, link } : { kind, link, pick: pick() };
    }
    case 'stall': {
      const direction = one(['both', 'to-server', 'to-client'] as const);
      return { kind, link: one(possible.links), direction, ms: draw(LASTS.stall) };
    }
    case 'refuse':
      return { kind, link: one(possible.links), ms: draw(LASTS.refuse) };
    case 'full':
      return { kind, disk: one(possible.disks), ms: draw(LASTS.full) };
    case 'partition':
      return { kind, wire: one(possible.wires), ms: draw(LASTS.partition) };
  }
}

/** The item of a list chosen by a pick. */
export function picked<T>(list: readonly T[], pick: number): T | undefined {
  return list[Math.floor((pick / PICKS) * list.length)];
}

/** The short name of a fault: `stop publisher for 1200 ms`. */
export function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.victim}`;
    case 'stop':
      return `stop ${fault.victim} for ${fault.ms} ms`;
    case 'cut': {
      const which = fault.pick === undefined ? 'all connections' : 'a connection';
      return `cut ${which} of ${fault.link}`;
    }
    case 'stall': {
      const way = fault.direction === 'both' ? '' : ` ${fault.direction}`;
      return `stall ${fault.link}${way} for ${fault.ms} ms`;
    }
    case 'refuse':
      return `refuse ${fault.link} for ${fault.ms} ms`;
    case 'full':
      return `disk of ${fault.disk} full for ${fault.ms} ms`;
    case 'partition':
      return `partition ${fault.wire} for ${fault.ms} ms`;
  }
}

/** Reads a plan written by a run. Throws Error for anything else. */
export function readPlan(text: string): Plan {
  const plan = JSON.parse(text) as Partial<Plan>;
  const good =
    typeof plan.seed === 'number' &&
    Array.isArray(plan.steps) &&
    plan.steps.every((step: Partial<Step>) => FAULT_KINDS.includes(step.fault?.kind as FaultKind));
  if (!good) throw new Error('this is no plan of a chaos run');
  return plan as Plan;
}

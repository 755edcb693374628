import { makePlan, type Plan, type Step } from '../../plan.ts';

/** Links between the masters: jobs go down, everything else goes up. */
const LINKS = ['publish', 'request'] as const;

/** Faults that every run has once, in this order, before any is drawn. */
const FIRST: readonly Step[] = [
  step({ kind: 'kill', victim: 'syndic-relay', pick: 0 }),
  step({ kind: 'kill', victim: 'master-above', pick: 0 }),
  // The master above takes a request, and its answer is lost.
  step({ kind: 'stall', link: 'request', direction: 'to-client', ms: 2_000 }),
  { ...step({ kind: 'cut', link: 'request' }), pauseMs: 1_500, together: true },
  step({ kind: 'stall', link: 'request', direction: 'to-server', ms: 4_000 }),
  step({ kind: 'stall', link: 'publish', direction: 'to-client', ms: 4_000 }),
  step({ kind: 'cut', link: 'publish' }),
  step({ kind: 'refuse', link: 'request', ms: 3_000 }),
];

function step(fault: Step['fault']): Step {
  return { fault, pauseMs: 1_000, together: false };
}

/** The plan of a tree, determined by the seed. Throws RangeError as `makePlan`. */
export function treePlan(faults: number, seed: number): Plan {
  const drawn = makePlan(faults, seed, {
    kinds: ['kill', 'stop', 'cut', 'stall', 'refuse'],
    victims: [
      'syndic-relay',
      'master-above',
      'req-gateway',
      'worker-pool',
      'runner-pool',
      'publisher',
      'event-bus',
      'job-cache-returner',
      'http-api',
      'nats',
      'postgres',
    ],
    links: LINKS,
    disks: [],
    wires: [],
  });
  return { seed, steps: [...FIRST, ...drawn.steps].slice(0, faults) };
}

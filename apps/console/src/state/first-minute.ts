import type { Overview } from '@brine/api/fleet';
import type { JobLine } from '@brine/api/jobs';

/** A step of the first minute. */
export type FirstStep = 'minions' | 'ping' | 'trace' | 'why' | 'own';

/** In their order. */
export const FIRST_STEPS: readonly FirstStep[] = ['minions', 'ping', 'trace', 'why', 'own'];

/** What a person has opened once, and whether the panel is still wanted. */
export interface FirstMinute {
  readonly opened: readonly ('trace' | 'why')[];
  readonly isDismissed: boolean;
}

const NAME = 'brine-first-minute';
const NOTHING: FirstMinute = { opened: [], isDismissed: false };
/** Minions of `npm start`. */
const DEMO_MINIONS = 2;

/** Reads what this browser keeps. */
export function readFirstMinute(): FirstMinute {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<FirstMinute>;
    const opened = Array.isArray(kept.opened) ? kept.opened : [];
    return {
      opened: (['trace', 'why'] as const).filter((step) => opened.includes(step)),
      isDismissed: kept.isDismissed === true,
    };
  } catch {
    // Another program wrote it, or the browser keeps nothing.
    return NOTHING;
  }
}

/** Keeps it for this browser, if the browser keeps anything. */
export function keepFirstMinute(state: FirstMinute): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(state));
  } catch {
    // Full or forbidden: the steps tick again next time.
  }
}

/** The step that an address is about, if it is one of those that are opened. */
export function openedBy(
  pathname: string,
  search: Readonly<Record<string, unknown>>,
): 'trace' | 'why' | undefined {
  const { tab } = search;
  if (!/^\/jobs\/[^/]+$/.test(pathname)) return undefined;
  return tab === 'trace' || tab === 'why' ? tab : undefined;
}

/** Which steps are done. @param pings jobs with test.ping that are there */
export function stepsDone(
  { fleet }: Pick<Overview, 'fleet'>,
  pings: number,
  { opened }: FirstMinute,
): ReadonlySet<FirstStep> {
  const { key } = fleet.facets;
  const done: Readonly<Record<FirstStep, boolean>> = {
    minions: key.accepted >= DEMO_MINIONS,
    ping: pings > 0,
    trace: opened.includes('trace'),
    why: opened.includes('why'),
    own: key.accepted > DEMO_MINIONS,
  };
  return new Set(FIRST_STEPS.filter((step) => done[step]));
}

/** A minion that is connected answers `test.ping` within this, ms. */
const ANSWERED_MS = 3_000;

/**
 * The newest job with a minion that did not answer; one that has just begun is none.
 * @param seenAt when the jobs were as given, in ms
 */
export function silentJob(
  jobs: readonly Pick<JobLine, 'jid' | 'published' | 'counts'>[],
  seenAt: number,
): string | undefined {
  return jobs.find(
    ({ published, counts }) =>
      counts.never > 0 || (counts.waiting > 0 && seenAt - Date.parse(published) >= ANSWERED_MS),
  )?.jid;
}

/** How a minion finds this master. */
export interface MasterPlace {
  readonly host: string;
  readonly port: number;
  /** False: the options could not be read, and the port is the usual one. */
  readonly isKnown: boolean;
  /** True if only minions on the master's own host reach it. */
  readonly isLocal: boolean;
}

const USUAL_PORT = 4506;
/** These are all addresses of a host, and none to connect to. */
const ALL_ADDRESSES: ReadonlySet<unknown> = new Set(['0.0.0.0', '::', '']);

/** @param here the host of the page's own address */
export function masterPlace(
  values: Readonly<Record<string, unknown>> | undefined,
  here: string,
): MasterPlace {
  const listens = values?.['interface'];
  const port = values?.['ret_port'];
  const isOne = typeof listens === 'string' && !ALL_ADDRESSES.has(listens);
  const host = isOne ? listens : here;
  return {
    host,
    port: typeof port === 'number' ? port : USUAL_PORT,
    isKnown: typeof port === 'number',
    isLocal: isOne ? isLoopback(listens) : false,
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** The lines of a minion's configuration. */
export function minionLines({ host, port }: MasterPlace): readonly string[] {
  return [`id: my-minion`, `master: ${JSON.stringify(host)}`, `master_port: ${port}`];
}

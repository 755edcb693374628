import type { Overview } from '@brine/api/fleet';
import type { JobLine } from '@brine/api/jobs';
import type { Doctor } from '@brine/api/site';

/** Something that is not as it should be. */
export interface OddThing {
  readonly id: string;
  readonly level: 'bad' | 'warn';
  /** What it is about, in the words of a minion, a user or the master: given text. */
  readonly subject?: string;
  readonly text: string;
  /** Where one sees more of it. */
  readonly page?: {
    readonly path: string;
    readonly search?: Readonly<Record<string, string>>;
    readonly word: string;
  };
  /** The place in the documentation. */
  readonly runbook?: string;
  /** When it began, or was found. */
  readonly since?: string | null;
}

/** What the overview is asked from; undefined: not known. */
export interface Known {
  readonly overview?: Overview | undefined;
  readonly doctor?: Doctor | undefined;
  /** The newest jobs that failed since a time, of an hour ago. */
  readonly failed?: { readonly from: string; readonly jobs: readonly JobLine[] } | undefined;
  /** When the last minion was lost. */
  readonly lostAt?: string | null | undefined;
}

const NUMBER = new Intl.NumberFormat('en');
const QUARANTINE_RUNBOOK = 'docs/outages.md#a-message-that-cannot-be-handled';
const SERVICES_RUNBOOK = 'docs/outages.md#a-service-that-hangs';
/** This many jobs of one function become one line. */
const ALIKE_MIN = 2;

/** What is not as it should be, the worst first. */
export function oddThings(known: Known): readonly OddThing[] {
  const all = [
    ...servicesOf(known),
    ...doctorOf(known),
    ...quarantineOf(known),
    ...failedOf(known),
    ...fleetOf(known),
  ];
  return [
    ...all.filter(({ level }) => level === 'bad'),
    ...all.filter(({ level }) => level === 'warn'),
  ];
}

function servicesOf({ overview }: Known): readonly OddThing[] {
  const services = { path: '/services', word: 'services' };
  return (overview?.trouble ?? []).map((trouble) => ({
    id: `service ${trouble}`,
    level: 'bad',
    subject: trouble,
    text: '',
    page: services,
    runbook: SERVICES_RUNBOOK,
  }));
}

/** Findings of the doctor, without those that the overview has by itself. */
function doctorOf({ overview, doctor }: Known): readonly OddThing[] {
  const isShown = (check: string): boolean =>
    (check === 'services' && (overview?.trouble ?? []).length > 0) ||
    (check === 'quarantine' && (overview?.jobs?.quarantined ?? 0) > 0);
  return (doctor?.findings ?? []).flatMap(({ level, check, text, runbook }): OddThing[] => {
    if (level === 'ok' || isShown(check)) return [];
    const page = { path: '/services', word: 'doctor' };
    return [{ id: `doctor ${check} ${text}`, level, subject: text, text: '', page, runbook }];
  });
}

function quarantineOf({ overview }: Known): readonly OddThing[] {
  const count = overview?.jobs?.quarantined ?? 0;
  if (count === 0) return [];
  return [
    {
      id: 'quarantine',
      level: 'bad',
      text: `${many(count, 'message')} in quarantine: the job cache could not take them`,
      runbook: QUARANTINE_RUNBOOK,
    },
  ];
}

/** Jobs that failed, those of one function together. */
function failedOf({ failed }: Known): readonly OddThing[] {
  if (failed === undefined) return [];
  const byFunction = new Map<string, JobLine[]>();
  for (const job of failed.jobs.filter((one) => !isOfMaster(one))) {
    const fun = job.fun.join(', ');
    byFunction.set(fun, [...(byFunction.get(fun) ?? []), job]);
  }
  return [...byFunction].map(([fun, jobs]): OddThing => {
    const [job] = jobs;
    const since = job?.published ?? null;
    const one = { id: `failed ${fun}`, level: 'bad', subject: fun, since } as const;
    if (jobs.length < ALIKE_MIN && job !== undefined) {
      const { failed: bad, targeted } = job.counts;
      const text = `failed on ${NUMBER.format(bad)} of ${many(targeted, 'minion')}`;
      return { ...one, text, page: { path: `/jobs/${job.jid}`, word: 'job' } };
    }
    const search = { result: 'failed', fun: literal(fun), from: failed.from };
    const text = `failed in ${NUMBER.format(jobs.length)} jobs of the last hour`;
    return { ...one, text, page: { path: '/jobs', search, word: 'jobs' } };
  });
}

function fleetOf({ overview, lostAt }: Known): readonly OddThing[] {
  if (overview === undefined) return [];
  const { key, present } = overview.fleet.facets;
  const found: OddThing[] = [];
  if (present.no > 0) {
    found.push({
      id: 'absent',
      level: 'bad',
      text: `${many(present.no, 'minion')} not connected`,
      since: lostAt ?? null,
      page: { path: '/minions', search: { present: 'false' }, word: 'minions' },
    });
  }
  if (key.denied > 0) {
    found.push({
      id: 'denied',
      level: 'warn',
      text: `${many(key.denied, 'key')} denied: another one of this id is accepted`,
      page: { path: '/keys', search: { state: 'denied' }, word: 'keys' },
    });
  }
  if (key.pending > 0) {
    found.push({
      id: 'pending',
      level: 'warn',
      text: `${many(key.pending, 'key')} waiting to be accepted`,
      page: { path: '/keys', search: { state: 'pending' }, word: 'keys' },
    });
  }
  return found;
}

function many(count: number, thing: string): string {
  return `${NUMBER.format(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** The master asks a minion which functions it has; a minion without `sys` lacks nothing else. */
function isOfMaster({ fun, origin }: JobLine): boolean {
  return origin === 'run' && fun.every((name) => name.startsWith('sys.'));
}

/** A shell pattern that matches this text alone. */
function literal(text: string): string {
  return text.replace(/[*?[\]]/g, '[$&]').replaceAll('[]]', ']');
}

import type { Ledger } from '@brine/job-cache';
import { Observed } from './observed.ts';
import { Differences, type LedgerFigures, type LedgerReport } from './report.ts';
import { type StoredJob, StoredLedger, type StoredReturn } from './stored.ts';

/** Inputs of a check. */
export interface CheckOptions {
  /** `postgres://…`; it is only read. */
  readonly databaseUrl: string;
  /** Logs that the rig wrote (`SwarmOptions.log`). */
  readonly logs: readonly string[];
  /** Jobs up to this jid are ignored: they are older than the run. Default: none. */
  readonly after?: string;
  /** True if the database has served only this run: compares its counters too. Default false. */
  readonly fresh?: boolean;
  /**
   * Facts that the client of the logs knows about jobs here. `all` is the default. `jobs`: not
   * their targets, because its minions are below other masters. `nothing`: it used a master above
   * this one.
   */
  readonly known?: 'all' | 'jobs' | 'nothing';
  /** The queries about a job; default: Brine's own. */
  readonly ledgerOf?: (jid: string) => Promise<Ledger | undefined>;
}

/** Jobs per query. */
const PAGE = 100;

const STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;
type States = Record<(typeof STATES)[number], number>;

/**
 * Compares the ledger with the logs of simulated minions and their client. The master must be at
 * rest, so that everything acknowledged has been stored. Throws Error if a log can not be read, and
 * as pg does if the database can not.
 */
export async function checkLedger(options: CheckOptions): Promise<LedgerReport> {
  const observed = new Observed();
  for (const log of options.logs) await observed.read(log);
  const stored = new StoredLedger(options.databaseUrl);
  try {
    const ledgerOf = options.ledgerOf ?? ((jid: string) => stored.ledger(jid));
    const { after = '', known = 'all' } = options;
    const check = new Check(observed, stored, { after, known, ledgerOf });
    return await check.run(options.fresh ?? false);
  } finally {
    await stored.close();
  }
}

class Check {
  readonly #observed: Observed;
  readonly #stored: StoredLedger;
  readonly #after: string;
  readonly #known: Required<CheckOptions>['known'];
  readonly #ledgerOf: Required<CheckOptions>['ledgerOf'];
  readonly #found = new Differences();
  readonly #jobs = new Map<string, number>();
  readonly #tokens = new Map<string, string>();
  readonly #states: States = { waiting: 0, returned: 0, failed: 0, late: 0, never: 0 };
  #closed = 0;
  #targeted = 0;
  #storedReturns = 0;
  #unacknowledged = 0;
  #ofOthers = 0;
  #evidence = 0;

  constructor(
    observed: Observed,
    stored: StoredLedger,
    { after, known, ledgerOf }: Required<Pick<CheckOptions, 'after' | 'known' | 'ledgerOf'>>,
  ) {
    this.#observed = observed;
    this.#stored = stored;
    this.#after = after;
    this.#known = known;
    this.#ledgerOf = ledgerOf;
  }

  async run(fresh: boolean): Promise<LedgerReport> {
    for (let after = this.#after; ;) {
      const jobs = await this.#stored.jobs(after, PAGE);
      await this.#page(jobs);
      const last = jobs.at(-1);
      if (last === undefined) break;
      after = last.jid;
    }
    await this.#jobless();
    await this.#refusals();
    this.#publishes();
    if (fresh) await this.#counters();
    const figures = this.#compareMinions();
    const { list: differences, counts } = this.#found;
    return { differences, counts, figures, ok: differences.length === 0 };
  }

  async #page(jobs: readonly StoredJob[]): Promise<void> {
    const jids = jobs.map(({ jid }) => jid);
    const returns = byJid(await this.#stored.returns(jids));
    const evidence = byJid(await this.#stored.returns(jids, 'evidence'));
    for (const job of jobs) {
      const found = returns.get(job.jid) ?? [];
      this.#returns(found);
      for (const one of evidence.get(job.jid) ?? []) {
        this.#evidence += 1;
        this.#content(one, 'evidence');
      }
      if (job.origin === 0) await this.#job(job, found);
      else this.#jobs.set(job.jid, job.origin);
    }
  }

  #returns(found: readonly StoredReturn[]): void {
    let before: StoredReturn | undefined;
    for (const one of found) {
      const { jid, id } = one;
      if (before?.jid === jid && before.id === id) this.#found.add('return-twice', jid, { id });
      before = one;
      if (!this.#observed.ids.has(id)) this.#ofOthers += 1;
      else this.#content(one, 'counted');
    }
  }

  #content({ jid, id, hash }: StoredReturn, where: 'counted' | 'evidence'): void {
    if (!this.#observed.ids.has(id)) return;
    const pair = this.#observed.jobs.get(jid)?.minions.get(id);
    const detail = `${where}: ${hash}`;
    if (pair === undefined || pair.sends === 0) {
      return this.#found.add('return-invented', jid, { id, detail });
    }
    if (!pair.hashes.includes(hash)) {
      const sent = `${detail}, sent: ${pair.hashes.join(' ')}`;
      this.#found.add('return-changed', jid, { id, detail: sent });
    }
    if (where === 'evidence') return;
    pair.stored = true;
    this.#storedReturns += 1;
    if (!pair.acked) this.#unacknowledged += 1;
  }

  /** Computes states from the rows, and compares them with Brine's report. */
  async #job(job: StoredJob, returns: readonly StoredReturn[]): Promise<void> {
    const { jid, token } = job;
    this.#jobs.set(jid, new Set(job.minions).size);
    if (token !== null) {
      const other = this.#tokens.get(token);
      if (other !== undefined) {
        this.#found.add('job-twice', jid, { detail: `the same request made ${other}` });
      }
      this.#tokens.set(token, jid);
    }
    const own = statesOf(job, returns);
    const targeted = STATES.reduce((sum, state) => sum + own[state], 0);
    this.#targeted += targeted;
    for (const state of STATES) this.#states[state] += own[state];
    if (job.closed) this.#closed += 1;
    const known = await this.#ledgerOf(jid);
    if (known === undefined) return this.#found.add('job-lost', jid, { detail: 'no ledger' });
    this.#ledger(job, known, own, targeted);
  }

  #ledger({ jid, closed }: StoredJob, known: Ledger, own: States, targeted: number): void {
    const sum = STATES.reduce((total, state) => total + known[state], 0);
    const shown = STATES.map((state) => `${state} ${known[state]} (rows: ${own[state]})`).join(
      ', ',
    );
    const detail = `targeted ${known.targeted} (rows: ${targeted}); ${shown}`;
    if (sum !== known.targeted) this.#found.add('job-sum', jid, { detail });
    if (closed && known.waiting > 0) this.#found.add('job-open', jid, { detail });
    // A job may close between the two readings: waiting becomes never.
    const open = (states: States | Ledger): number => states.waiting + states.never;
    const same =
      known.targeted === targeted &&
      open(known) === open(own) &&
      (['returned', 'failed', 'late'] as const).every((state) => known[state] === own[state]);
    if (!same) this.#found.add('job-states', jid, { detail });
  }

  async #jobless(): Promise<void> {
    const rows = await this.#stored.jobless(this.#after);
    for (const { jid, id } of rows) this.#found.add('return-without-job', jid, { id });
    const jids = [...new Set(rows.map(({ jid }) => jid))];
    for (let at = 0; at < jids.length; at += PAGE) {
      this.#returns(await this.#stored.returns(jids.slice(at, at + PAGE)));
    }
  }

  async #refusals(): Promise<void> {
    for (const { kind, jid, id, reason } of await this.#stored.refusals()) {
      if (!this.#observed.jobs.has(jid) && !this.#observed.ids.has(id)) continue;
      if (kind === 'job' || kind === 'durable')
        this.#found.add('job-quarantined', jid, { detail: reason });
      else this.#found.add('return-quarantined', jid, { id, detail: reason });
    }
  }

  #publishes(): void {
    const known = this.#known === 'nothing' ? [] : this.#observed.published;
    for (const { jid, token, targeted } of known) {
      const stored = this.#jobs.get(jid);
      // A job made only from its returns was never stored as published.
      if (stored === undefined || !this.#tokens.has(token)) {
        const other = this.#tokens.get(token);
        const detail = other === undefined ? '' : `the request made ${other}`;
        this.#found.add('job-lost', jid, detail === '' ? {} : { detail });
      } else if (this.#tokens.get(token) !== jid) {
        this.#found.add('job-twice', jid, { detail: `stored as ${this.#tokens.get(token)}` });
      } else if (stored !== targeted && this.#known === 'all') {
        const detail = `stored ${stored}, answered ${targeted}`;
        this.#found.add('job-targets', jid, { detail });
      }
    }
    for (const [token, detail] of this.#observed.refused) {
      const jid = this.#tokens.get(token);
      if (jid !== undefined) this.#found.add('job-refused', jid, { detail });
    }
  }

  async #counters(): Promise<void> {
    const { returns, jobs, cReturns, cJobs } = await this.#stored.counts();
    if (returns !== cReturns) {
      const detail = `${returns} returns are stored, ${cReturns} counted`;
      this.#found.add('counters', '', { detail });
    }
    if (jobs !== cJobs) {
      this.#found.add('counters', '', { detail: `${jobs} jobs are stored, ${cJobs} counted` });
    }
  }

  /** Compares the minions' logs with the database. */
  #compareMinions(): LedgerFigures {
    const sums = { received: 0, again: 0, sent: 0, acked: 0, givenUp: 0, resent: 0 };
    for (const [jid, { minions, again }] of this.#observed.jobs) {
      sums.again += again;
      for (const [id, pair] of minions) {
        if (pair.runs > 1) this.#found.add('run-twice', jid, { id, detail: `${pair.runs} times` });
        if (pair.acked && !pair.stored) this.#found.add('return-lost', jid, { id });
        sums.received += pair.runs > 0 ? 1 : 0;
        sums.sent += pair.sends > 0 ? 1 : 0;
        sums.acked += pair.acked ? 1 : 0;
        sums.givenUp += pair.givenUp;
        sums.resent += Math.max(0, pair.sends - 1);
      }
    }
    return {
      publishes: this.#observed.publishes,
      published: this.#observed.published.length,
      jobs: this.#jobs.size,
      closed: this.#closed,
      targeted: this.#targeted,
      received: sums.received,
      receivedAgain: sums.again,
      sent: sums.sent,
      acknowledged: sums.acked,
      givenUp: sums.givenUp,
      resent: sums.resent,
      stored: this.#storedReturns,
      storedUnacknowledged: this.#unacknowledged,
      ofOthers: this.#ofOthers,
      evidence: this.#evidence,
      states: this.#states,
    };
  }
}

/** Each minion that was targeted or returned is in exactly one state (design: the ledger rule). */
function statesOf(job: StoredJob, returns: readonly StoredReturn[]): States {
  const states: States = { waiting: 0, returned: 0, failed: 0, late: 0, never: 0 };
  const silent = new Set(job.minions);
  for (const { id, receivedMs, failed } of new Map(returns.map((one) => [one.id, one])).values()) {
    silent.delete(id);
    if (job.deadlineMs !== null && receivedMs > job.deadlineMs) states.late += 1;
    else states[failed ? 'failed' : 'returned'] += 1;
  }
  states[job.closed ? 'never' : 'waiting'] = silent.size;
  return states;
}

function byJid(rows: readonly StoredReturn[]): Map<string, StoredReturn[]> {
  const found = new Map<string, StoredReturn[]>();
  for (const row of rows) {
    const list = found.get(row.jid);
    if (list === undefined) found.set(row.jid, [row]);
    else list.push(row);
  }
  return found;
}

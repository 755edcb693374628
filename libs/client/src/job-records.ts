import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditRow } from '@brine/job';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { RefusedError } from './errors.ts';
import type { LocalClient } from './local-client.ts';

/** Jobs of one page of a query. */
const PAGE_JOBS = 1_000;

/** Number of tries for a part of an import, and the pause before a retry, in ms. */
const IMPORT_TRIES = 30;
const IMPORT_WAIT_MS = 1_000;

/** Conditions of `jobs.list_jobs`. */
export interface JobSearch {
  readonly functions?: readonly string[];
  readonly targets?: readonly string[];
  readonly metadata?: SaltMap;
  readonly startMs?: number;
  readonly endMs?: number;
  readonly leaveOutHidden?: boolean;
  /** The newest of them, at most this many. */
  readonly limit?: number;
}

/** The cause of a minion's silence (`SILENCE_CAUSES` of libs/job), and the evidence. */
export interface SilenceShown {
  readonly cause: string;
  readonly text: string;
}

/**
 * Timeout for a page of returns, in ms. A gateway always answers within 28 s. With earlier retries
 * a busy master would read 50 MB several times at once.
 */
const PAGE_MS = 30_000;

/** The job cache, asked through the master by the clear command `brine_query`. */
export class JobRecords {
  readonly #client: Pick<LocalClient, 'command'>;

  constructor(client: Pick<LocalClient, 'command'>) {
    this.#client = client;
  }

  /** The load of a job with `Minions`; undefined for an unknown jid. */
  async load(jid: string): Promise<SaltMap | undefined> {
    const value = await this.#ask('get_load', mapOf({ jid }));
    return isMap(value) && value.size > 0 ? value : undefined;
  }

  /** The minions of a job, and ids of its target that the master did not know. */
  async targets(
    jid: string,
  ): Promise<{ readonly minions: string[]; readonly missing: string[] } | undefined> {
    const row = await this.#ask('job', mapOf({ jid }));
    if (!isMap(row)) return undefined;
    return { minions: textsIn(row, 'minions'), missing: textsIn(row, 'missing') };
  }

  /** The returns of a job by minion. */
  async returns(jid: string): Promise<SaltMap> {
    const all: SaltMap = new Map();
    let after: string | undefined;
    do {
      const page = await this.#ask('get_jid', mapOf({ jid, after }), PAGE_MS);
      if (!isMap(page)) break;
      for (const [id, value] of mapIn(page, 'returns') ?? []) all.set(id, value);
      after = textOf(page, 'next');
    } while (after !== undefined);
    return all;
  }

  /** When the last return of a job came, unix ms; undefined without returns. */
  async endTime(jid: string): Promise<number | undefined> {
    const value = await this.#ask('end_time', mapOf({ jid }));
    return typeof value === 'number' ? value : undefined;
  }

  /** All jobs, oldest first, in pages, because their number is unbounded. A page may be empty. */
  async *pages(search: JobSearch): AsyncGenerator<SaltMap, void> {
    let after: string | undefined;
    do {
      const page = await this.#listed(search, { limit: PAGE_JOBS, after, oldestFirst: true });
      if (page === undefined) return;
      yield mapIn(page, 'jobs') ?? new Map<SaltValue, SaltValue>();
      after = textOf(page, 'next');
    } while (after !== undefined);
  }

  async #listed(
    search: JobSearch,
    place: Readonly<Record<string, SaltValue | undefined>>,
  ): Promise<SaltMap | undefined> {
    const page = await this.#ask(
      'list_jobs',
      mapOf({
        ...place,
        searchFunction: search.functions && [...search.functions],
        searchTarget: search.targets && [...search.targets],
        searchMetadata: search.metadata,
        startTime: search.startMs,
        endTime: search.endMs,
        leaveOutHidden: search.leaveOutHidden,
      }),
    );
    return isMap(page) ? page : undefined;
  }

  /** Jobs by jid, oldest first. */
  async list(search: JobSearch): Promise<Map<string, SaltMap>> {
    const limit = search.limit ?? Infinity;
    const found: [string, SaltMap][] = [];
    let before: string | undefined;
    do {
      const place = { limit: Math.min(PAGE_JOBS, limit - found.length), before };
      const page = await this.#listed(search, place);
      if (page === undefined) break;
      for (const [jid, job] of mapIn(page, 'jobs') ?? []) {
        if (typeof jid === 'string' && isMap(job)) found.push([jid, job]);
      }
      before = textOf(page, 'next');
    } while (before !== undefined && found.length < limit);
    return new Map(found.reverse());
  }

  /** The whole row of a job with its ledger. */
  async row(jid: string): Promise<SaltMap | undefined> {
    const value = await this.#ask('job', mapOf({ jid, states: true }));
    return isMap(value) ? value : undefined;
  }

  /** The state of a job at a moment; undefined for an unknown jid. */
  async at(jid: string, atMs: number): Promise<SaltMap | undefined> {
    const value = await this.#ask('at', mapOf({ jid, atMs }));
    return isMap(value) ? value : undefined;
  }

  /**
   * The causes of silence of a job's minions, or of `ids`; undefined for an unknown jid. Stops
   * after the page with the last of `most`.
   */
  async why(
    jid: string,
    ids?: readonly string[],
    most = Infinity,
  ): Promise<Map<string, SilenceShown> | undefined> {
    const found = new Map<string, SilenceShown>();
    let after: string | undefined;
    do {
      const page = await this.#ask('why', mapOf({ jid, ids: ids && [...ids], after }));
      if (!isMap(page)) return undefined;
      for (const [id, silence] of mapIn(page, 'minions') ?? []) {
        if (typeof id !== 'string' || !isMap(silence)) continue;
        const [cause, text] = [textOf(silence, 'cause'), textOf(silence, 'text')];
        found.set(id, { cause: cause ?? 'unknown', text: text ?? 'unknown' });
      }
      after = textOf(page, 'next');
    } while (after !== undefined && found.size < most);
    return found;
  }

  /** Lines of a file of `jobs.export`, without their ends. */
  async exportPage(
    jid: string,
    kind: string,
    after: string | undefined,
  ): Promise<{ readonly lines: readonly string[]; readonly next: string | undefined }> {
    const page = await this.#ask('export', mapOf({ jid, kind, after }));
    if (!isMap(page)) throw new Error('the job cache gave no lines');
    const lines = (listOf(page, 'lines') ?? []).filter((line) => typeof line === 'string');
    return { lines, next: textOf(page, 'next') };
  }

  /**
   * Imports a part of such a file, itself a valid file, into the job cache. Returns the counts of
   * its rows. After a timeout the part is sent again: existing rows stay.
   */
  async importPart(file: string, linesBefore: number): Promise<SaltMap> {
    for (let tries = 1; ; tries += 1) {
      try {
        const counts = await this.#ask('import', mapOf({ file, linesBefore }));
        if (isMap(counts) && counts.get('busy') !== true) return counts;
        if (tries >= IMPORT_TRIES) throw new Error('other imports run; try again later');
      } catch (error) {
        const isLate = error instanceof RefusedError && error.name === 'SaltReqTimeoutError';
        if (!isLate || tries >= IMPORT_TRIES) throw error;
      }
      await sleep(IMPORT_WAIT_MS);
    }
  }

  /** Durable jobs that are open (job-cache-returner `durable`), oldest first. */
  async durable(): Promise<SaltMap[]> {
    const value = await this.#ask('durable', mapOf({}));
    return Array.isArray(value) ? value.filter(isMap) : [];
  }

  /** The rows in quarantine (job-cache-returner `quarantine`), the newest first. */
  async quarantine(
    question: SaltMap,
  ): Promise<{ readonly total: number; readonly rows: readonly SaltMap[] }> {
    const answer = await this.#ask('quarantine', question);
    if (!isMap(answer)) throw new Error('the job cache did not return its quarantine');
    const rows = (listOf(answer, 'rows') ?? []).filter(isMap);
    return { total: Number(answer.get('total')), rows };
  }

  /** Retries rows in quarantine; the job cache does so in parts. */
  async retryQuarantined(
    chosen: SaltMap,
  ): Promise<{ readonly stored: number; readonly refused: number }> {
    const counts = { stored: 0, refused: 0 };
    for (let after = 0; ;) {
      const part = await this.#ask('quarantine_retry', new Map(chosen).set('after', after));
      if (!isMap(part)) throw new Error('the job cache did not return the result of the retry');
      counts.stored += Number(part.get('stored'));
      counts.refused += Number(part.get('refused'));
      const next = part.get('next');
      if (typeof next !== 'number') return counts;
      after = next;
    }
  }

  /** Drops rows in quarantine; returns how many. */
  async dropQuarantined(chosen: SaltMap): Promise<number> {
    const answer = await this.#ask('quarantine_drop', chosen);
    return isMap(answer) ? Number(answer.get('dropped')) : 0;
  }

  /** All rows on record, in the order of their writers and numbers. */
  async *audit(): AsyncGenerator<AuditRow, void> {
    let last: AuditRow | undefined;
    for (;;) {
      const after = mapOf({ writer: last?.writer ?? '', n: last?.n ?? 0 });
      const page = linesOf(await this.#ask('audit', after));
      yield* page;
      last = page.at(-1);
      if (last === undefined) return;
    }
  }

  /**
   * The newest rows on record, from a time on and before one (unix ms), and before a row of an
   * earlier answer.
   */
  async newestAudit({
    before,
    ...wanted
  }: {
    readonly limit: number;
    readonly kind: string | undefined;
    readonly principal: string | undefined;
    readonly since?: number | undefined;
    readonly until?: number | undefined;
    readonly before?: { readonly at: number; readonly writer: string; readonly n: number };
  }): Promise<AuditRow[]> {
    const place = before && mapOf({ ...before });
    return linesOf(await this.#ask('audit_newest', mapOf({ ...wanted, before: place })));
  }

  /** The payload version of the newest log-in of each minion that is on record. */
  async *logInVersions(): AsyncGenerator<{ readonly id: string; readonly version: number }, void> {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page = await this.#ask('last_log_ins', mapOf({ after }));
      after = undefined;
      for (const row of Array.isArray(page) ? page.filter(isMap) : []) {
        after = textOf(row, 'id') ?? '';
        yield { id: after, version: Number(row.get('version')) };
      }
    }
  }

  /** Number of minions of a job in each state, and of all of them: `targeted`. */
  async ledger(jid: string): Promise<SaltMap> {
    return asMap(await this.#ask('ledger', mapOf({ jid })));
  }

  /** The reports of all services of the cluster (libs/bus callRoll). */
  async roll(): Promise<SaltMap> {
    return asMap(await this.#ask('roll', mapOf({})));
  }

  /** Counts of minions by state, and the first that are absent or wait for a decision. */
  async minions(limit: number): Promise<SaltMap> {
    return asMap(await this.#ask('minions', mapOf({ limit })));
  }

  /** Facts about PostgreSQL (libs/job-cache databaseFacts). */
  async database(): Promise<SaltMap> {
    return asMap(await this.#ask('database', mapOf({})));
  }

  async #ask(query: string, args: SaltMap, atLeastMs?: number): Promise<SaltValue> {
    const load = mapOf({ cmd: 'brine_query', query, args });
    const reply = await this.#client.command(load, atLeastMs);
    return reply.get('value') ?? null;
  }
}

/** Names or globs: a list, or one text with commas (Salt: salt/utils/args.py split_input). */
export function splitInput(value: SaltValue | undefined): string[] | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const items = Array.isArray(value) ? value : pyStr(value).split(',');
  return items.map((item) => pyStr(item).trim());
}

/** The minions that a load was meant for. */
export function minionsOf(load: SaltMap): string[] {
  return textsIn(load, 'Minions');
}

function textsIn(map: SaltMap, name: string): string[] {
  return (listOf(map, name) ?? []).filter((text) => typeof text === 'string');
}

function asMap(value: SaltValue): SaltMap {
  if (isMap(value)) return value;
  throw new Error('the master did not answer with a map');
}

function linesOf(value: SaltValue): AuditRow[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isMap).map((row) => ({
    writer: textOf(row, 'writer') ?? '',
    n: Number(row.get('n')),
    body: textOf(row, 'body') ?? '',
    before: textOf(row, 'before') ?? '',
    seal: textOf(row, 'seal') ?? '',
  }));
}

import { BusError } from '@brine/bus';
import type { EventMessage, EventReader } from '@brine/bus/events';
import type { JobFiles } from '@brine/cachedir';
import type { Jid } from '@brine/job';
import { isMinionId, jidStartTime, parseTag } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { textOf, unpackMap, WireError } from '@brine/wire';
import { bornLoad } from './born-load.ts';

/** Returns handled at the same time: bounds open files. */
const BATCH = 64;
const RETRY_MS = 5_000;
/** Errors of the host: no room, no more open files, a disk that is gone or read-only. */
const OUTAGES: ReadonlySet<string> = new Set([
  ...['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE'],
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'EBUSY', 'EAGAIN', 'EACCES', 'EPERM'],
]);

/** The parts of {@link ReturnFiles}. */
export interface ReturnFilesParts {
  readonly files: JobFiles;
  readonly reader: Pick<EventReader, 'batches'>;
  /** Also keep the time of a job's last return (`job_cache_store_endtime`). */
  readonly endTimes: boolean;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Writes `return.p` of every return, for stock `salt-run jobs.*` on this host. It runs in the
 * background at its own pace; the stream keeps the backlog.
 */
export class ReturnFiles {
  readonly #files: JobFiles;
  readonly #reader: Pick<EventReader, 'batches'>;
  readonly #onTrouble: (error: unknown) => void;
  readonly #endTimes: boolean;
  readonly #counts = { written: 0, repeated: 0, failed: 0 };

  constructor(parts: ReturnFilesParts) {
    this.#files = parts.files;
    this.#reader = parts.reader;
    this.#onTrouble = parts.onTrouble;
    this.#endTimes = parts.endTimes;
  }

  stats(): object {
    return { ...this.#counts };
  }

  /** Runs until the reader is closed. */
  async run(): Promise<void> {
    for await (const events of this.#reader.batches(BATCH)) {
      await Promise.all(events.map((event) => this.#write(event)));
      if (this.#endTimes) await this.#writeEndTimes(events);
    }
  }

  /** Writes end times after the returns. The next one replaces a lost one. */
  async #writeEndTimes(events: readonly EventMessage[]): Promise<void> {
    const last = new Map<string, number>();
    for (const { tag, timeMs } of events) {
      const parsed = parseTag(tag);
      if (parsed.kind !== 'job-return') continue;
      last.set(parsed.jid, Math.max(last.get(parsed.jid) ?? 0, timeMs));
    }
    try {
      for (const [jid, ms] of last) {
        if (await this.#files.has(jid)) await this.#files.writeEndTime(jid, timeText(ms));
      }
    } catch (error) {
      this.#onTrouble(error);
    }
  }

  async #write(event: EventMessage): Promise<void> {
    const tag = parseTag(event.tag);
    if (tag.kind !== 'job-return' || !isMinionId(tag.id)) {
      event.ack();
      return;
    }
    try {
      const data = unpackMap(await event.fetch());
      if (!(await this.#files.has(tag.jid))) {
        const load = bornLoad(tag.jid, tag.id, data);
        await this.#files.writeBornJob({ jid: tag.jid, load, minions: [tag.id] });
      }
      const first = await this.#files.writeReturn(
        tag.jid,
        tag.id,
        storedValue(data),
        textOf(data, 'out'),
      );
      if (first) this.#counts.written += 1;
      else this.#counts.repeated += 1;
      event.ack();
    } catch (error) {
      this.#counts.failed += 1;
      this.#onTrouble(error);
      // Another form will never be a return; a full disk may have room later.
      if (error instanceof WireError) event.ack();
      else if (isOutage(error)) event.nak(RETRY_MS);
      else event.failed(error);
    }
  }
}

/** True for an outage of the disk or the stream: retried for as long as it lasts. */
function isOutage(error: unknown): boolean {
  if (error instanceof BusError) return error.retryable;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && OUTAGES.has(code);
}

/** The values of a return that salt/returners/local_cache.py returner stores, if present. */
function storedValue(data: SaltMap): SaltMap {
  const value: SaltMap = new Map<SaltValue, SaltValue>();
  for (const key of ['return', 'retcode', 'success']) {
    const field = data.get(key);
    if (field !== undefined) value.set(key, field);
  }
  return value;
}

/** As a stock master writes it: the digits of a jid of that time (Salt: salt/utils/job.py). */
function timeText(ms: number): string {
  return jidStartTime(`${new Date(ms).toISOString().replace(/\D/g, '')}000` as Jid);
}

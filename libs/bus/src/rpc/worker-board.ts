import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { isRecord } from '../connection/js-api.ts';
import { MESSAGE_VERSION } from '../connection/message-version.ts';
import { REQUEST_CLASSES, type RequestClass, SUBJECT_ROOT, subjects } from '../subjects/names.ts';
import { ANNOUNCE_MS, SILENT_MS } from './request-frame.ts';

/** A worker's announcement about one class. */
export interface ClassLoad {
  /** Requests in hand, running or queued. */
  readonly hand: number;
  /** The most that it accepts, running or queued. */
  readonly room: number;
  /** How many of them run at once. */
  readonly concurrency: number;
}

/** The announcement that a worker makes each second. */
export interface Announcement {
  /** The newest form of requests that it reads; default 1. */
  readonly reads?: number;
  readonly host: string;
  readonly draining: boolean;
  readonly load: Readonly<Record<RequestClass, ClassLoad>>;
}

/** The interval of announcements, and how late one may be. */
const FRESH_MS = ANNOUNCE_MS + 600;
/** The same if a doubt is to favour the worker. */
const ON_TIME_MS = ANNOUNCE_MS + 100;

/**
 * Requests within this time, up to a maximum, go to one worker: waking, a write to NATS and an
 * append then serve all of them. The last waits for the others, some 4 ms for returns.
 */
const TOGETHER_MS = 5;
const TOGETHER_MAX = 32;

interface Seat extends ClassLoad {
  hand: number;
  /** Requests of this gateway. */
  own: number;
}

/** A worker as a gateway sees it. */
export interface WorkerView {
  readonly id: string;
  announcedAt: number;
  /** A claim of its lapsed, and it has sent nothing since. */
  suspect: boolean;
  draining: boolean;
  readonly seats: Record<RequestClass, Seat>;
}

/** Packs an announcement. */
export function packAnnouncement(announcement: Announcement): string {
  return JSON.stringify({ reads: MESSAGE_VERSION, ...announcement });
}

/** Reads an announcement; undefined for anything else. */
export function readAnnouncement(data: Uint8Array): Announcement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return undefined; // not from a worker of ours
  }
  if (!isRecord(value) || !isRecord(value['load'])) return undefined;
  const { host, draining, load } = value;
  if (typeof host !== 'string' || typeof draining !== 'boolean') return undefined;
  const loads: Partial<Record<RequestClass, ClassLoad>> = {};
  for (const cls of REQUEST_CLASSES) {
    const one = load[cls];
    if (!isRecord(one)) return undefined;
    const { hand, room, concurrency } = one;
    if (typeof hand !== 'number' || typeof room !== 'number') return undefined;
    if (typeof concurrency !== 'number') return undefined;
    loads[cls] = { hand, room, concurrency };
  }
  const { auth, clear, aes } = loads;
  if (auth === undefined || clear === undefined || aes === undefined) return undefined;
  const reads = typeof value['reads'] === 'number' ? { reads: value['reads'] } : {};
  return { ...reads, host, draining, load: { auth, clear, aes } };
}

/**
 * The workers that are alive, and the choice among them: the less loaded of two drawn at random.
 * Choosing the least loaded of all would send every gateway to the same worker between two
 * announcements.
 */
export class WorkerBoard {
  /** When any worker last sent something; at first, when the board began. */
  announcedAt = performance.now();
  readonly #workers = new Map<string, WorkerView>();
  #list: readonly WorkerView[] = [];
  /** The worker that gets the next requests of class `aes`, how many, and how long. */
  #kept: { worker: WorkerView; left: number; readonly until: number } | undefined;

  /** True if any worker accepts requests. */
  get ready(): boolean {
    return this.#list.some((worker) => !worker.draining && !worker.suspect);
  }

  /** How many workers accept requests. */
  get willing(): number {
    // Asked for each of thousands of waiting requests: allocate no list.
    let count = 0;
    for (const { draining, suspect } of this.#list) if (!draining && !suspect) count += 1;
    return count;
  }

  /** Records a worker's announcement. */
  announced(id: string, announcement: Announcement, now: number): void {
    this.announcedAt = now;
    const known = this.#workers.get(id);
    const seat = (cls: RequestClass): Seat => {
      const own = known?.seats[cls].own ?? 0;
      const announced = announcement.load[cls];
      // The announcement does not count requests on their way to the worker.
      return { ...announced, own, hand: Math.max(announced.hand, own) };
    };
    const seats = { auth: seat('auth'), clear: seat('clear'), aes: seat('aes') };
    if (known === undefined) {
      const { draining } = announcement;
      this.#workers.set(id, { id, announcedAt: now, suspect: false, draining, seats });
      this.#list = [...this.#workers.values()];
      return;
    }
    known.announcedAt = now;
    known.suspect = false;
    known.draining = announcement.draining;
    Object.assign(known.seats, seats);
  }

  /** Forgets the workers that have been silent for too long. */
  forgetSilent(now: number): void {
    for (const worker of this.#list) {
      if (now - worker.announcedAt > SILENT_MS) this.#workers.delete(worker.id);
    }
    if (this.#workers.size !== this.#list.length) this.#list = [...this.#workers.values()];
  }

  /** Counts all workers as alive, after a time in which no message could arrive. */
  countAllAlive(now: number): void {
    this.announcedAt = now;
    for (const worker of this.#list) worker.announcedAt = now;
  }

  /** Counts a request that a worker gets or leaves. */
  count(id: string, cls: RequestClass, change: 1 | -1): void {
    const seat = this.#workers.get(id)?.seats[cls];
    if (seat === undefined) return;
    seat.own = Math.max(0, seat.own + change);
    seat.hand = Math.max(seat.own, seat.hand + change);
  }

  /** A worker refused: it counts as full until its next announcement. */
  refused(id: string, cls: RequestClass): void {
    const seat = this.#workers.get(id)?.seats[cls];
    if (seat !== undefined) seat.hand = Math.max(seat.hand, seat.room);
  }

  /** A claim of a worker lapsed: it gets nothing more until it sends something. */
  suspect(id: string): void {
    const worker = this.#workers.get(id);
    if (worker !== undefined) worker.suspect = true;
  }

  /** True if a worker's last announcement is not overdue. */
  isOnTime({ announcedAt }: WorkerView, now: number): boolean {
    return now - announcedAt < ON_TIME_MS;
  }

  /**
   * Chooses a worker with room, none of `not`; undefined if there is no such worker. Workers that
   * have missed an announcement come after all others. Log-ins and clear requests are few and
   * expensive, so a worker is drawn for each. Other requests that come together stay together.
   * `first` is tried before all others.
   */
  choose(
    cls: RequestClass,
    not: ReadonlySet<string>,
    now: number,
    first?: string,
  ): WorkerView | undefined {
    const same = first === undefined ? undefined : this.#workers.get(first);
    if (same !== undefined && takes(same, cls, not)) return same;
    if (cls !== 'aes') return this.#chooseAgain(cls, not, now);
    const kept = this.#kept;
    if (kept !== undefined && kept.left > 0 && now < kept.until) {
      const { worker } = kept;
      if (isFresh(worker, now) && takes(worker, cls, not) && loadOf(worker, cls) < 1) {
        kept.left -= 1;
        return worker;
      }
    }
    const worker = this.#chooseAgain(cls, not, now);
    this.#kept = worker && { worker, left: TOGETHER_MAX - 1, until: now + TOGETHER_MS };
    return worker;
  }

  #chooseAgain(cls: RequestClass, not: ReadonlySet<string>, now: number): WorkerView | undefined {
    const one = this.#draw(cls, not, now);
    const other = this.#draw(cls, not, now);
    if (one !== undefined && other !== undefined) {
      return loadOf(other, cls) < loadOf(one, cls) ? other : one;
    }
    if (one !== undefined || other !== undefined) return one ?? other;
    const free = this.#list.filter((worker) => takes(worker, cls, not));
    const fresh = free.filter((worker) => isFresh(worker, now));
    const among = fresh.length > 0 ? fresh : free;
    return among[Math.floor(Math.random() * among.length)];
  }

  #draw(cls: RequestClass, not: ReadonlySet<string>, now: number): WorkerView | undefined {
    const worker = this.#list[Math.floor(Math.random() * this.#list.length)];
    if (worker === undefined || !isFresh(worker, now)) return undefined;
    return takes(worker, cls, not) ? worker : undefined;
  }
}

function isFresh(worker: WorkerView, now: number): boolean {
  return now - worker.announcedAt < FRESH_MS;
}

function takes(worker: WorkerView, cls: RequestClass, not: ReadonlySet<string>): boolean {
  const seat = worker.seats[cls];
  return !worker.draining && !worker.suspect && seat.hand < seat.room && !not.has(worker.id);
}

function loadOf(worker: WorkerView, cls: RequestClass): number {
  const seat = worker.seats[cls];
  return seat.hand / Math.max(1, seat.concurrency);
}

/**
 * Updates a board from the announcements of workers, and asks for them at once. Calls `onAnnounced`
 * after each. Returns a function that stops it.
 */
export function followWorkers(
  bus: Bus,
  board: WorkerBoard,
  onAnnounced: (id: string) => void,
): () => void {
  const root = `${SUBJECT_ROOT}.workers.`;
  const subscription = bus.connection.subscribe(`${root}*`, {
    callback: (_error, msg) => {
      const announcement = readAnnouncement(msg.data);
      if (announcement === undefined) return;
      const id = msg.subject.slice(root.length);
      board.announced(id, announcement, performance.now());
      onAnnounced(id);
    },
  });
  publish(bus.connection, subjects.hello, '');
  return () => subscription.unsubscribe();
}

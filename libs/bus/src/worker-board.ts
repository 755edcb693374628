import { isRecord } from './js-api.ts';
import { REQUEST_CLASSES } from './names.ts';
import type { RequestClass } from './names.ts';
import { CLAIM_MS } from './request-frame.ts';

/** What a worker tells of one class. */
export interface ClassLoad {
  /** Requests in hand, running or queued. */
  readonly hand: number;
  /** How many it takes in hand. */
  readonly room: number;
  /** How many of them run at once. */
  readonly concurrency: number;
}

/** What a worker tells of itself each second. */
export interface Announcement {
  readonly host: string;
  readonly draining: boolean;
  readonly load: Readonly<Record<RequestClass, ClassLoad>>;
}

interface Seat extends ClassLoad {
  hand: number;
  /** Of ours. */
  own: number;
}

/** A worker as a gateway sees it. */
export interface WorkerView {
  readonly id: string;
  heardAt: number;
  draining: boolean;
  readonly seats: Record<RequestClass, Seat>;
}

/** Packs an announcement. */
export function packAnnouncement(announcement: Announcement): string {
  return JSON.stringify(announcement);
}

/** Reads an announcement; undefined for anything else. */
export function readAnnouncement(data: Uint8Array): Announcement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return undefined; // nothing that a worker of ours sent
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
  return { host, draining, load: { auth, clear, aes } };
}

/**
 * The workers that are alive, and the choice among them: of two drawn at random the less loaded one.
 * Choosing the least loaded of all would send every gateway to the same worker between two
 * announcements.
 */
export class WorkerBoard {
  readonly #workers = new Map<string, WorkerView>();
  #list: readonly WorkerView[] = [];

  /** Whether anybody takes requests. */
  get ready(): boolean {
    return this.#list.some((worker) => !worker.draining);
  }

  /** The workers that are alive, the draining ones too. */
  get workers(): readonly WorkerView[] {
    return this.#list;
  }

  get(id: string): WorkerView | undefined {
    return this.#workers.get(id);
  }

  /** Notes what a worker told of itself. */
  announced(id: string, announcement: Announcement, now: number): void {
    const known = this.#workers.get(id);
    const seat = (cls: RequestClass): Seat => {
      const own = known?.seats[cls].own ?? 0;
      const told = announcement.load[cls];
      // It does not know of those that are on their way to it.
      return { ...told, own, hand: Math.max(told.hand, own) };
    };
    const seats = { auth: seat('auth'), clear: seat('clear'), aes: seat('aes') };
    if (known === undefined) {
      this.#workers.set(id, { id, heardAt: now, draining: announcement.draining, seats });
      this.#list = [...this.#workers.values()];
      return;
    }
    known.heardAt = now;
    known.draining = announcement.draining;
    Object.assign(known.seats, seats);
  }

  /** Forgets the workers that have been silent for too long. */
  forgetSilent(now: number): void {
    for (const worker of this.#list) {
      if (now - worker.heardAt > CLAIM_MS) this.#workers.delete(worker.id);
    }
    if (this.#workers.size !== this.#list.length) this.#list = [...this.#workers.values()];
  }

  /** After a time in which nobody could be heard, everybody counts as heard. */
  hearAll(now: number): void {
    for (const worker of this.#list) worker.heardAt = now;
  }

  /** One more, or one less, of ours is in a worker's hands. */
  count(id: string, cls: RequestClass, change: 1 | -1): void {
    const seat = this.#workers.get(id)?.seats[cls];
    if (seat === undefined) return;
    seat.own = Math.max(0, seat.own + change);
    seat.hand = Math.max(seat.own, seat.hand + change);
  }

  /** A worker refused: it counts as full until it announces itself again. */
  refused(id: string, cls: RequestClass): void {
    const seat = this.#workers.get(id)?.seats[cls];
    if (seat !== undefined) seat.hand = Math.max(seat.hand, seat.room);
  }

  /** Chooses a worker with room, none of `not`; undefined where there is none. */
  choose(cls: RequestClass, not: ReadonlySet<string>): WorkerView | undefined {
    const one = this.#draw(cls, not);
    const other = this.#draw(cls, not);
    if (one === undefined || other === undefined) {
      const free = this.#list.filter((worker) => takes(worker, cls, not));
      return one ?? other ?? free[Math.floor(Math.random() * free.length)];
    }
    return loadOf(other, cls) < loadOf(one, cls) ? other : one;
  }

  #draw(cls: RequestClass, not: ReadonlySet<string>): WorkerView | undefined {
    const worker = this.#list[Math.floor(Math.random() * this.#list.length)];
    return worker !== undefined && takes(worker, cls, not) ? worker : undefined;
  }
}

function takes(worker: WorkerView, cls: RequestClass, not: ReadonlySet<string>): boolean {
  const seat = worker.seats[cls];
  return !worker.draining && seat.hand < seat.room && !not.has(worker.id);
}

function loadOf(worker: WorkerView, cls: RequestClass): number {
  const seat = worker.seats[cls];
  return seat.hand / Math.max(1, seat.concurrency);
}

import type { Form } from './frames.ts';
import type { LiveEvent } from './live-events.ts';
import type { RecentEvent, RecentEvents } from './recent-events.ts';
import { learnInTime, type Sight } from './sight.ts';

/** After it did not answer it is not asked for this long, ms. */
const AWAY_MS = 30_000;
/** Events that wait; beyond it they are judged by what is known. */
const WAITING_MAX = 10_000;
/** Events of one question. */
const ASKED_AT_ONCE = 500;

interface OfForm {
  readonly form: Form;
}

/** Followers with the same rights: each event is judged once for all of them. */
export class SightClass<G extends OfForm> {
  readonly sight: Sight;
  readonly groups = new Map<string, G>();
  readonly #general = new Set<G>();
  readonly #byJid = new Map<string, Set<G>>();
  readonly #recent: RecentEvents;
  readonly #give: (groups: Iterable<G>, event: LiveEvent) => void;
  /** Events that wait until it is known whose job they are of, and those after them. */
  #waiting: RecentEvent[] = [];
  #isLearning = false;
  #awayUntil = 0;

  constructor(
    sight: Sight,
    recent: RecentEvents,
    give: (groups: Iterable<G>, event: LiveEvent) => void,
  ) {
    this.sight = sight;
    this.#recent = recent;
    this.#give = give;
  }

  /** Events before this number were judged. */
  get taken(): number {
    return this.#recent.end - this.#waiting.length;
  }

  /** The position after them. */
  get position(): string {
    return this.#recent.before(this.taken);
  }

  /** Judges events from this number on, which followers with other rights have not got yet. */
  begin(from: number): void {
    this.#waiting = [...this.#recent.slice(from, this.#recent.end)];
    if (this.#waiting.length > 0) void this.#learn();
  }

  /** True if followers of a group of these rights get this event. */
  wants({ form: { jids } }: G, event: LiveEvent): boolean {
    return (jids === undefined || jids.has(event.jid ?? '')) && this.sight.sees(event);
  }

  add(group: G): void {
    const { name, jids } = group.form;
    this.groups.set(name, group);
    if (jids === undefined) {
      this.#general.add(group);
      return;
    }
    for (const jid of jids) {
      const known = this.#byJid.get(jid) ?? new Set<G>();
      known.add(group);
      this.#byJid.set(jid, known);
    }
  }

  remove(group: G): void {
    const { name, jids = [] } = group.form;
    if (this.groups.get(name) !== group) return;
    this.groups.delete(name);
    this.#general.delete(group);
    for (const jid of jids) {
      const known = this.#byJid.get(jid);
      known?.delete(group);
      if (known?.size === 0) this.#byJid.delete(jid);
    }
  }

  /** Takes an event that {@link RecentEvents} has got already. */
  take(event: RecentEvent): void {
    const mustWait =
      this.#waiting.length > 0 ||
      (this.sight.isUnsure?.(event) === true && Date.now() >= this.#awayUntil);
    if (!mustWait) {
      this.#judge(event);
      return;
    }
    this.#waiting.push(event);
    if (this.#waiting.length > WAITING_MAX) this.#release(this.#waiting.length);
    else if (!this.#isLearning) void this.#learn();
  }

  async #learn(): Promise<void> {
    this.#isLearning = true;
    while (this.#waiting.length > 0) {
      const asked = this.#waiting.slice(0, ASKED_AT_ONCE);
      const isAway = Date.now() < this.#awayUntil;
      if (!isAway && !(await learnInTime(this.sight, asked)))
        this.#awayUntil = Date.now() + AWAY_MS;
      // Some may have been released meanwhile.
      this.#release(this.#waiting[0] === asked[0] ? asked.length : 0);
    }
    this.#isLearning = false;
  }

  #release(count: number): void {
    const events = this.#waiting.slice(0, count);
    for (const event of events) {
      this.#waiting.shift();
      this.#judge(event);
      event.forget?.();
    }
  }

  #judge(event: LiveEvent): void {
    const ofJob = event.jid === undefined ? undefined : this.#byJid.get(event.jid);
    if (this.#general.size === 0 && ofJob === undefined) return;
    if (!this.sight.sees(event)) return;
    this.#give(this.#general, event);
    if (ofJob !== undefined) this.#give(ofJob, event);
  }
}

import { pack, type SaltMap } from '@brine/wire';
import type { Plain } from '../src/engine.ts';
import { plainMap, saltMap } from '../src/plain.ts';
import type {
  EngineFeed,
  EnginePorts,
  EngineRecord,
  FedEvent,
  RecordKeeper,
} from '../src/supervise/ports.ts';

/** The bus of a cluster in memory, and what engines did to it. */
export class MemoryMaster {
  readonly fired: { readonly tag: string; readonly data: { readonly [key: string]: Plain } }[] = [];
  readonly logged: string[] = [];
  readonly called: string[] = [];
  /** Answers of functions, by name. */
  readonly functions = new Map<string, (args: readonly Plain[]) => Plain>();
  /** Errors of fetching the body of an event, by tag; each comes once. */
  readonly bodyErrors = new Map<string, Error[]>();
  record: EngineRecord = { position: undefined, saved: null };
  #events: { readonly tag: string; readonly data: SaltMap; readonly timeMs: number }[] = [];
  #news: (() => void)[] = [];

  /** An event comes; its position is its number, counted from 1. */
  event(tag: string, data: { readonly [key: string]: Plain } = {}, timeMs = 1_000): void {
    this.#events.push({ tag, data: saltMap(data), timeMs });
    for (const wake of this.#news.splice(0)) wake();
  }

  get ports(): EnginePorts {
    return {
      masterId: 'm_master',
      openFeed: async (fits, position) => this.#feed(fits, Number(position ?? this.#events.length)),
      fire: async (tag, data) => void this.fired.push({ tag, data: plainMap(data) }),
      call: async ({ kind, fun, args }) => {
        this.called.push(`${kind} ${fun} ${JSON.stringify(args)}`);
        const answer = this.functions.get(fun);
        if (answer === undefined) throw new Error(`'${fun}' is not available.`);
        return answer(args);
      },
      log: (level, text) => void this.logged.push(`${level}: ${text}`),
    };
  }

  get keeper(): RecordKeeper {
    const record = (): EngineRecord => this.record;
    return {
      get record() {
        return record();
      },
      keep: async (next) => {
        this.record = next;
      },
    };
  }

  #feed(fits: (tag: string) => boolean, from: number): EngineFeed {
    let at = from;
    let isClosed = false;
    const take = async (max: number, waitMs: number): Promise<readonly FedEvent[]> => {
      if (at >= this.#events.length && !isClosed) await this.#wait(waitMs);
      const taken: FedEvent[] = [];
      while (taken.length < max && at < this.#events.length) {
        const event = this.#events[at];
        at += 1;
        if (event === undefined || !fits(event.tag)) continue;
        const { tag } = event;
        const body = pack(event.data);
        const place = { timeMs: event.timeMs, position: String(at) };
        const fetched = async (): Promise<Uint8Array> => {
          const error = this.bodyErrors.get(tag)?.shift();
          if (error !== undefined) throw error;
          return body;
        };
        taken.push({ kind: 'local', tag, ...place, body: fetched });
      }
      return taken;
    };
    return {
      take,
      get position() {
        return String(at);
      },
      takeNotices: () => [],
      close: () => {
        isClosed = true;
        for (const wake of this.#news.splice(0)) wake();
      },
    };
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#news.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

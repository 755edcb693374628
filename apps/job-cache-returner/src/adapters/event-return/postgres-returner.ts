import type { MasterOptions } from '@brine/config';
import {
  type Batch,
  dataJson,
  type EventReturner,
  ReturnerError,
  returnerUrl,
} from '@brine/event-return';
import { EventTable, isRefusedEvent } from '@brine/job-cache';

/** The type of the column `data`, by Salt's returner. */
const KINDS = { pgjsonb: { data: 'jsonb' }, postgres: { data: 'text' } } as const;

/** The parts of the returners of PostgreSQL. */
export interface PostgresReturnerParts {
  readonly name: keyof typeof KINDS;
  readonly options: MasterOptions;
  /** Brine's own database, used if the options name no other. */
  readonly databaseUrl: string;
  /** Resolves once Brine's own database has its tables. */
  readonly connected: Promise<void>;
  readonly warn: (text: string) => void;
}

/**
 * Events as rows of `salt_events`, as Salt's returners `pgjsonb` and `postgres` write them: in the
 * database of their options, or in Brine's own.
 */
export class PostgresReturner implements EventReturner {
  readonly name: string;
  readonly #table: EventTable;
  readonly #made: Promise<void>;
  readonly #warn: (text: string) => void;

  constructor({ name, options, databaseUrl, connected, warn }: PostgresReturnerParts) {
    this.name = name;
    this.#warn = warn;
    const foreign = returnerUrl(name, options);
    this.#made = foreign === undefined ? connected : Promise.resolve();
    this.#table = new EventTable({
      url: foreign ?? databaseUrl,
      // The table of Brine's own schema has jsonb.
      data: foreign === undefined ? 'jsonb' : KINDS[name].data,
      masterId: options.id,
      writer: foreign === undefined ? name : `${name} ${options.id}`,
      isOwn: foreign === undefined,
    });
  }

  get keepsPlace(): boolean {
    return this.#table.keepsPlace;
  }

  async open(): Promise<string | undefined> {
    // At its first start the master makes the tables at the same time; a wait is no outage.
    await this.#made;
    const place = await this.#doing(() => this.#table.place());
    if (!this.#table.keepsPlace) {
      this.#warn(
        'this database user may not make the table brine_event_return: after a crash some events ' +
          'may be in salt_events twice',
      );
    }
    return place;
  }

  async write({ events, from, to }: Batch): Promise<undefined> {
    const rows = events.map(rowOf);
    const isThere = await this.#doing(() => this.#table.add(rows, { from, to }));
    if (!isThere) throw new ReturnerError('moved', 'another process has written there');
  }

  async writeAgain(event: Batch['events'][number]): Promise<void> {
    const row = rowOf(event);
    await this.#doing(() => this.#table.add([row]));
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  async #doing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const failure = isRefusedEvent(error) ? 'refused' : 'away';
      throw new ReturnerError(failure, error instanceof Error ? error.message : '', error);
    }
  }
}

function rowOf(event: Batch['events'][number]): { tag: string; data: string; atMs: number } {
  return { tag: event.tag, data: dataJson(event), atMs: event.timeMs };
}

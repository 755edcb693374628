import { eventStamp } from '@brine/wire/frames';
import { dataJson, eventId, type EventToReturn } from './event.ts';
import { ReturnerError } from './returner.ts';
import { checkReply, type WebPost, type WebReply } from './web.ts';

/** The options of Salt's returner `elasticsearch` that concern events. */
export interface ElasticsearchOptions {
  /** `http://host:9200`, tried in turn. */
  readonly hosts: readonly string[];
  readonly headers: ReadonlyMap<string, string>;
  /** `master_event_index`. */
  readonly index: string;
  /** `index_date`: the name of the index ends with the day of the event (UTC). */
  readonly isDated: boolean;
  readonly shards: number;
  readonly replicas: number;
}

/** Sends a request; rejects if no server answers. */
export type AskWeb = (post: WebPost) => Promise<WebReply>;

/** Answers that call one document invalid or too large. All others may succeed later. */
const REFUSED = new Set([400, 413]);
/** An answer of 400 that does not concern the document. */
const IS_CLOSED = 'index_closed_exception';
/** The document exists: an earlier try wrote it. */
const IS_THERE = 409;

/**
 * The data of events are stored but not indexed. A field has one type per index, but events differ:
 * `return` is a boolean, a text or a map.
 */
const MAPPINGS = {
  properties: {
    '@timestamp': { type: 'date' },
    // Lucene refuses a document with a term of more than 32,766 bytes.
    tag: { type: 'keyword', ignore_above: 8_191 },
    data: { type: 'object', enabled: false },
  },
};

/**
 * Writes events to Elasticsearch or OpenSearch as documents `{tag, data}` (Salt:
 * salt/returners/elasticsearch_return.py event_return, which writes only the last event of a
 * queue). The id of a document is derived from its event, so repeated writes make no duplicate.
 */
export class Elasticsearch {
  readonly #options: ElasticsearchOptions;
  readonly #ask: AskWeb;
  readonly #known = new Set<string>();
  #host = 0;

  constructor(options: ElasticsearchOptions, ask: AskWeb) {
    this.#options = options;
    this.#ask = ask;
  }

  /**
   * Writes events; existing documents count as written.
   * @throws ReturnerError `refused` if a document is refused. No event is named, so the batch is
   * split
   */
  async write(events: readonly EventToReturn[]): Promise<void> {
    if (events.length === 0) return;
    for (const index of new Set(events.map((event) => this.#indexOf(event)))) {
      await this.#ensure(index);
    }
    const lines = events.flatMap((event) => [
      JSON.stringify({ create: { _index: this.#indexOf(event), _id: eventId(event) } }),
      documentOf(event),
    ]);
    const reply = await this.#send('POST', '/_bulk', `${lines.join('\n')}\n`);
    checkReply(reply);
    const trouble = troubleOf(reply.body);
    // The index may be deleted or replaced.
    if (trouble?.failure === 'away') this.#known.clear();
    if (trouble !== undefined) throw trouble;
  }

  #indexOf({ timeMs }: EventToReturn): string {
    const { index, isDated } = this.#options;
    if (!isDated) return index;
    return `${index}-${new Date(timeMs).toISOString().slice(0, 10).replaceAll('-', '.')}`;
  }

  /** Creates the index with an alias of its name, as Salt does, if it is missing. */
  async #ensure(index: string): Promise<void> {
    if (this.#known.has(index)) return;
    const path = `/${encodeURIComponent(index)}`;
    const found = await this.#send('HEAD', path);
    if (found.status === 404) {
      const { shards, replicas } = this.#options;
      const made = await this.#send(
        'PUT',
        `${path}-v1`,
        JSON.stringify({
          settings: { number_of_shards: shards, number_of_replicas: replicas },
          mappings: MAPPINGS,
          aliases: { [index]: {} },
        }),
      );
      // Another process may have created it meanwhile.
      const isThere = Buffer.from(made.body).includes('resource_already_exists_exception');
      if (!isThere && made.status >= 400) {
        throw new ReturnerError('away', `the index ${index} was not made: ${made.status}`);
      }
    } else if (found.status >= 400) {
      throw new ReturnerError('away', `the index ${index} can not be read: ${found.status}`);
    }
    if (this.#known.size > 1_000) this.#known.clear();
    this.#known.add(index);
  }

  /** Asks the host that answered last; after a failure the next one. */
  async #send(method: WebPost['method'], path: string, body?: string): Promise<WebReply> {
    const { hosts, headers } = this.#options;
    const host = hosts[this.#host % hosts.length] ?? '';
    const type = path === '/_bulk' ? 'application/x-ndjson' : 'application/json';
    const all = new Map([...headers, ['Content-Type', type] as const]);
    const more = body === undefined ? {} : { body };
    try {
      return await this.#ask({ url: `${host}${path}`, method, headers: all, ...more });
    } catch (error) {
      this.#host += 1;
      throw error;
    }
  }
}

function documentOf(event: EventToReturn): string {
  const at = JSON.stringify(eventStamp(event.timeMs, true));
  return `{"@timestamp":${at},"tag":${JSON.stringify(event.tag)},"data":${dataJson(event)}}`;
}

interface BulkItem {
  readonly create?: { readonly status?: number; readonly error?: { readonly type?: unknown } };
}

/** Reads from an answer to `_bulk` why documents were not taken. */
function troubleOf(body: Uint8Array): ReturnerError | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    return new ReturnerError('away', 'the answer to _bulk is no JSON', error);
  }
  const { errors, items } = (parsed ?? {}) as { errors?: unknown; items?: readonly BulkItem[] };
  if (errors !== true) return undefined;
  const failed = (items ?? []).filter(({ create }) => {
    const status = create?.status ?? 0;
    return status >= 300 && status !== IS_THERE;
  });
  const later = failed.find(({ create }) => {
    return !REFUSED.has(create?.status ?? 0) || create?.error?.type === IS_CLOSED;
  });
  const item = later ?? failed[0];
  if (item === undefined) return undefined;
  const why = JSON.stringify(item.create?.error ?? {}).slice(0, 300);
  const failure = later === undefined ? 'refused' : 'away';
  return new ReturnerError(failure, `a document was not taken: ${why}`);
}

import type { MasterOptions } from '@brine/config';
import {
  type AskWeb,
  type Batch,
  checkReply,
  Elasticsearch,
  type EventReturner,
  postOf,
  ReturnerError,
  ReturnerOptions,
  type WebPost,
} from '@brine/event-return';
import { askWeb } from '@brine/outgoing';
import { errorText } from '@brine/tasks';

const CONNECT_MS = 5_000;
const TIMEOUT_MS = 60_000;
/** Elasticsearch answers some 300 bytes for each event. */
const ANSWER_MAX_BYTES = 16 * 1024 * 1024;

/** How a server is asked. */
interface WebSettings {
  readonly verify: boolean;
  readonly caBundle: string | undefined;
  readonly timeoutMs: number;
}

/** Asks web servers; a missing answer gives `away`. */
function asking({ verify, caBundle, timeoutMs }: WebSettings): AskWeb {
  return async (post: WebPost) => {
    try {
      return await askWeb({
        ...post,
        verify,
        ...(caBundle === undefined ? {} : { caBundle }),
        connectTimeoutMs: CONNECT_MS,
        timeoutMs,
        maxBytes: ANSWER_MAX_BYTES,
      });
    } catch (error) {
      const text = errorText(error);
      throw new ReturnerError('away', `${new URL(post.url).origin}: ${text}`, error);
    }
  };
}

function headerOf([name, value]: readonly [string, unknown]): [string, string] {
  if (typeof value === 'string') return [name, value];
  if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
  throw new ReturnerError('missing', `header '${name}' of brine.event_http must be a text`);
}

/** Events by POST to a server of the site (`brine.event_http`). */
export class HttpReturner implements EventReturner {
  readonly name = 'http';
  readonly keepsPlace = false;
  readonly #url: string;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #ask: AskWeb;

  /** @throws ReturnerError `missing` without an address */
  constructor({ brine }: Pick<MasterOptions, 'brine'>, ask?: AskWeb) {
    const { url, headers, verify, caBundle } = brine.eventHttp;
    if (url === undefined || !/^https?:\/\//.test(url)) {
      throw new ReturnerError('missing', 'brine.event_http.url names no web address');
    }
    this.#url = url;
    this.#headers = new Map(Object.entries(headers).map(headerOf));
    this.#ask = ask ?? asking({ verify, caBundle, timeoutMs: TIMEOUT_MS });
  }

  open(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async write(batch: Batch): Promise<undefined> {
    if (batch.events.length === 0) return;
    checkReply(await this.#ask(postOf(batch, this.#url, this.#headers)));
  }

  async writeAgain(event: Batch['events'][number]): Promise<void> {
    await this.write({ events: [event], from: event.position, to: event.position });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Events as documents of Elasticsearch or OpenSearch, by the options of Salt's returner. */
export class ElasticsearchReturner implements EventReturner {
  readonly name = 'elasticsearch';
  readonly keepsPlace = false;
  readonly #server: Elasticsearch;

  /** @throws ReturnerError `missing` for an invalid option */
  constructor(from: Pick<MasterOptions, 'written'>, ask?: AskWeb) {
    const options = new ReturnerOptions(from, 'elasticsearch');
    const ownCa = options.text('ca_certs');
    const settings = {
      verify: options.flag('verify_certs', true),
      caBundle: ownCa,
      timeoutMs: options.integer('timeout', 10) * 1_000,
    };
    const isSecure = options.flag('use_ssl', false);
    this.#server = new Elasticsearch(
      {
        hosts: hostsOf(options).map((host) => addressOf(host, isSecure)),
        headers: authorization(options.text('username'), options.text('password')),
        index: options.text('master_event_index') ?? 'salt-master-event-cache',
        isDated: options.flag('index_date', false),
        shards: options.integer('number_of_shards', 1),
        replicas: options.integer('number_of_replicas', 0),
      },
      ask ?? asking(settings),
    );
  }

  open(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async write({ events }: Batch): Promise<undefined> {
    await this.#server.write(events);
  }

  writeAgain(event: Batch['events'][number]): Promise<void> {
    return this.#server.write([event]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The hosts, as salt/modules/elasticsearch.py `_get_instance` reads them. */
function hostsOf(options: ReturnerOptions): readonly string[] {
  const hosts = [...options.texts('host'), ...options.texts('hosts')];
  return hosts.length > 0 ? hosts : ['127.0.0.1:9200'];
}

function addressOf(host: string, isSecure: boolean): string {
  const address = /^https?:\/\//.test(host) ? host : `http${isSecure ? 's' : ''}://${host}`;
  return address.replace(/\/+$/, '');
}

function authorization(
  user: string | undefined,
  password: string | undefined,
): ReadonlyMap<string, string> {
  if (user === undefined || password === undefined) return new Map();
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  return new Map([['Authorization', `Basic ${credentials}`]]);
}

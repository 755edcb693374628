import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { Elasticsearch, type ElasticsearchOptions } from './elasticsearch.ts';
import type { WebPost, WebReply } from './web.ts';

const DAY_MS = 86_400_000;
const AT = Date.UTC(2026, 10, 26, 12);

const OPTIONS: ElasticsearchOptions = {
  hosts: ['http://a:9200', 'http://b:9200'],
  headers: new Map(),
  index: 'salt-master-event-cache',
  isDated: false,
  shards: 1,
  replicas: 0,
};

const event = (n: number, timeMs = AT) => {
  return { tag: `t/${n}`, timeMs, data: pack(mapOf({ n })), position: `p${n}` };
};

/** A server that keeps documents by their ids; `refuse` says what it answers to one instead. */
function server(refuse: (tag: string) => number | undefined = () => undefined, type = 'x') {
  const documents = new Map<string, Record<string, unknown>>();
  const indexes = new Set<string>();
  const made: unknown[] = [];
  const asked: string[] = [];
  const reply = (status: number, body: unknown = {}): WebReply => {
    return { status, reason: '', body: Buffer.from(JSON.stringify(body)) };
  };
  const ask = async ({ url, method, body = '' }: WebPost): Promise<WebReply> => {
    const { host, pathname } = new URL(url);
    asked.push(`${method} ${host}${pathname}`);
    const index = decodeURIComponent(pathname.slice(1));
    if (method === 'HEAD') return reply(indexes.has(index) ? 200 : 404);
    if (method === 'PUT') {
      indexes.add(index.replace(/-v1$/, ''));
      made.push(JSON.parse(body));
      return reply(200);
    }
    const lines = body.trimEnd().split('\n');
    const items: { readonly create: { readonly status: number; readonly error?: object } }[] = [];
    for (let at = 0; at < lines.length; at += 2) {
      const head = JSON.parse(lines[at]!) as { create: { _index: string; _id: string } };
      const document = JSON.parse(lines[at + 1]!) as Record<string, unknown>;
      const key = `${head.create._index} ${head.create._id}`;
      const status = refuse(String(document['tag'])) ?? (documents.has(key) ? 409 : 201);
      if (status === 201) documents.set(key, document);
      items.push({ create: { status, ...(status > 201 ? { error: { type } } : {}) } });
    }
    return reply(200, { errors: items.some(({ create }) => create.status > 201), items });
  };
  return { ask, asked, documents, indexes, made };
}

test('events become documents, once however often they are written', async () => {
  const { ask, asked, documents } = server();
  const elastic = new Elasticsearch(OPTIONS, ask);
  await elastic.write([event(1), event(2)]);
  await elastic.write([event(2), event(3)]);
  expect([...documents.values()]).toEqual(
    [1, 2, 3].map((n) => {
      return { '@timestamp': '2026-11-26T12:00:00.000000+00:00', tag: `t/${n}`, data: { n } };
    }),
  );
  expect(asked).toEqual([
    'HEAD a:9200/salt-master-event-cache',
    'PUT a:9200/salt-master-event-cache-v1',
    'POST a:9200/_bulk',
    'POST a:9200/_bulk',
  ]);
});

test('an index of each day is that of the events, not of the clock', async () => {
  const { ask, indexes } = server();
  const elastic = new Elasticsearch({ ...OPTIONS, isDated: true }, ask);
  await elastic.write([event(1, AT), event(2, AT + DAY_MS)]);
  expect([...indexes]).toEqual([
    'salt-master-event-cache-2026.11.26',
    'salt-master-event-cache-2026.11.27',
  ]);
});

test('an index takes data whose fields have another type in each event', async () => {
  const { ask, made } = server();
  await new Elasticsearch(OPTIONS, ask).write([event(1)]);
  expect(made).toMatchObject([
    {
      aliases: { 'salt-master-event-cache': {} },
      mappings: {
        properties: {
          '@timestamp': { type: 'date' },
          tag: { type: 'keyword' },
          data: { type: 'object', enabled: false },
        },
      },
    },
  ]);
});

test.each([
  [400, 'mapper_parsing_exception', 'refused'],
  [413, 'too_large', 'refused'],
  [400, 'index_closed_exception', 'away'],
  [401, 'security_exception', 'away'],
  [403, 'cluster_block_exception', 'away'],
  [404, 'index_not_found_exception', 'away'],
  [429, 'es_rejected_execution_exception', 'away'],
  [503, 'unavailable_shards_exception', 'away'],
])('a document that gets %i %s is %s', async (status, type, failure) => {
  const { ask, asked, indexes } = server((tag) => (tag === 't/2' ? status : undefined), type);
  const elastic = new Elasticsearch(OPTIONS, ask);
  await expect(elastic.write([event(1), event(2)])).rejects.toMatchObject({ failure });
  indexes.clear();
  await elastic.write([event(3)]);
  // Where the server was at fault, the index is looked at again, and made again.
  expect(asked.filter((line) => line.startsWith('PUT'))).toHaveLength(failure === 'away' ? 2 : 1);
});

test('after a host that does not answer the next one is asked', async () => {
  const { ask, documents } = server();
  const elastic = new Elasticsearch(OPTIONS, (post) => {
    if (post.url.startsWith('http://a')) return Promise.reject(new Error('refused'));
    return ask(post);
  });
  await expect(elastic.write([event(1)])).rejects.toThrow('refused');
  await elastic.write([event(1)]);
  expect(documents.size).toBe(1);
});

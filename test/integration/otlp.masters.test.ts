import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Jid, traceIdOf } from '@brine/job';
import { BrineMaster } from '@brine/testing';
import { orphansOf, type RecordedSpan, spansOfRequest } from '@brine/testing/spans';
import { afterAll, beforeAll, expect, it } from 'vitest';

const IDS = ['otlp-1', 'otlp-2'];
const HOST = 'otlp-host';
const JOBS = 6;
/** Texts of an argument and a return: a collector gets neither. */
const MARK = 'hush-51c0de';
/** Everything on the way of a job, by service. */
const HOPS: Readonly<Record<string, readonly string[]>> = {
  cli: ['request'],
  'req-gateway': ['gateway.publish', ...IDS.map((id) => `gateway.return.${id}`)],
  'worker-pool': [
    'worker.publish',
    'record',
    ...IDS.flatMap((id) => [`worker.return.${id}`, `minion.${id}`]),
  ],
  publisher: ['publish'],
  'job-cache-returner': ['store-job', ...IDS.map((id) => `store.${id}`)],
  'event-bus': [`announce.${HOST}`],
  minion: IDS.map((id) => `run.${id}`),
};

let sink: Server;
let master: BrineMaster;
const bodies: string[] = [];
const kinds = new Set<string>();

beforeAll(async () => {
  sink = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      kinds.add(`${request.method} ${request.url} ${request.headers['content-type']}`);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const { port } = sink.address() as AddressInfo;
  master = await BrineMaster.start(
    { brine: { workers: 2, host: HOST, trace: 'all', trace_publications: true } },
    {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '300',
      },
    },
  );
  for (const id of IDS) await master.startMinion(id);
  await master.acceptKeys(IDS);
  await master.waitForMinions(IDS);
});
afterAll(async () => {
  await master.close();
  await new Promise((resolve) => sink.close(resolve));
});

function received(): RecordedSpan[] {
  return bodies.flatMap((body) => spansOfRequest(body));
}

/** The parts of a job by service, replicas of a worker taken together, in the order of HOPS. */
function hopsOf(spans: readonly RecordedSpan[]): Record<string, string[]> {
  const hops: Record<string, string[]> = {};
  for (const { service, attributes } of spans) {
    const name = service.replace(/-\d+$/, '');
    (hops[name] ??= []).push(String(attributes['brine.part']));
  }
  return hops;
}

/** Parts that are not there; a job of the first seconds may be sent again on top of them. */
function missingOf(spans: readonly RecordedSpan[]): string[] {
  const hops = hopsOf(spans);
  return Object.entries(HOPS).flatMap(([service, parts]) =>
    parts.filter((part) => !hops[service]?.includes(part)).map((part) => `${service} ${part}`),
  );
}

it('a collector gets one whole tree of spans for each job, over all services', async () => {
  const jids: string[] = [];
  for (let at = 0; at < JOBS; at += 1) {
    const args =
      at % 2 === 0 ? ['test.echo', `${MARK}-${at}`] : ['cmd.run', `echo ${MARK}; exit 3`];
    const { stdout, stderr } = await master.brine('salt', ['*', ...args, '--async']);
    const jid = /(\d{20})/.exec(stdout)?.[1];
    if (jid === undefined) throw new Error(`no job id in ${stdout}${stderr}`);
    jids.push(jid);
  }
  const traceOf = (jid: string): RecordedSpan[] => {
    const traceId = traceIdOf(jid as Jid);
    return received().filter((span) => span.traceId === traceId);
  };
  await expect
    .poll(() => jids.flatMap((jid) => missingOf(traceOf(jid))), { timeout: 30_000, interval: 300 })
    .toEqual([]);

  // Spans of one moment come from several services, each in its own time.
  await expect.poll(() => orphansOf(received())).toEqual([]);
  for (const jid of jids) {
    const trace = traceOf(jid);
    const roots = trace.filter(({ parentSpanId }) => parentSpanId === undefined);
    expect(roots.map(({ attributes }) => attributes['brine.part'])).toEqual(['request']);
    const seen = trace.map(({ attributes }) => String(attributes['brine.part']));
    const known = Object.values(HOPS).flat();
    expect(seen.filter((part) => !part.startsWith('again.')).sort()).toEqual([...known].sort());
    // No span of the job is in another trace.
    const own = received().filter(({ attributes }) => attributes['brine.jid'] === jid);
    expect(new Set(own.map(({ traceId }) => traceId)).size).toBe(1);
  }
  expect(new Set(received().map(({ spanId }) => spanId)).size).toBe(received().length);
  expect([...kinds]).toEqual(['POST /v1/traces application/json']);
});

it('log-ins, pillars and events of minions arrive too, and no span tells what a job carried', () => {
  const parts = new Set(received().map(({ attributes }) => attributes['brine.part']));
  for (const kind of ['login', 'pillar', 'event']) {
    expect([parts.has(`gateway.${kind}`), parts.has(`worker.${kind}`), kind]).toEqual([
      true,
      true,
      kind,
    ]);
  }
  expect(bodies.filter((body) => body.includes(MARK))).toEqual([]);
});

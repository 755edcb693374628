import { createServer } from 'node:http';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JidMaker, spanIdOf, traceIdOf } from '@brine/job';
import { formatTrace } from './format-trace.ts';
import { createLog } from './log.ts';
import { readTrace } from './read-trace.ts';
import { defaultParent, isSampled, parseTraceparent, type SpanRecord } from './span.ts';
import { startTelemetry, type TelemetryOptions, traceDir } from './telemetry.ts';

const JID = new JidMaker().next(Date.UTC(2026, 10, 20, 17, 10, 37));
const T0 = Date.UTC(2026, 10, 20, 17, 10, 37) + 0.25;

let cachedir: string;

beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'brine-telemetry-'));
});

afterEach(() => {
  rmSync(cachedir, { recursive: true, force: true });
});

function optionsOf(trace: Partial<TelemetryOptions['brine']['trace']> = {}): TelemetryOptions {
  const defaults = { enabled: true, ratio: 1, maxFileSize: 65_536, maxTotalSize: 131_072 };
  return { cachedir, logLevel: 'info', brine: { host: 'h1', trace: { ...defaults, ...trace } } };
}

function start(service: string, options = optionsOf(), lines: string[] = []) {
  const destination = { write: (line: string) => void lines.push(line) };
  return startTelemetry({ service, options, env: {}, destination });
}

function partOf(part: string, fromMs: number, toMs: number): SpanRecord {
  return {
    name: part.split('.', 2).join('.'),
    jid: JID,
    part,
    startMs: T0 + fromMs,
    endMs: T0 + toMs,
  };
}

describe('spans of a job', () => {
  test('spans recorded by services that know only the jid form one tree', async () => {
    const gateway = await start('req-gateway');
    const worker = await start('worker-pool');
    gateway.recordSpan(partOf('gateway.publish', 0, 9));
    worker.recordSpan(partOf('worker.publish', 1, 8));
    worker.recordSpan(partOf('record', 2, 4));
    worker.recordSpan(partOf('publish', 5, 6));
    gateway.recordSpan(partOf('gateway.return.web1.example', 20, 30));
    worker.recordSpan(partOf('worker.return.web1.example', 22, 28));
    await Promise.all([gateway.shutdown(), worker.shutdown()]);

    const trace = await readTrace(traceDir(cachedir), JID);
    expect(trace.spans).toBe(6);
    expect(trace.roots.map(({ part }) => part)).toEqual(['gateway.publish']);
    const publish = trace.roots[0]!.children[0]!.children[0]!.children[0]!;
    expect(publish.part).toBe('publish');
    expect(publish.children[0]!.part).toBe('gateway.return.web1.example');
    expect(publish.children[0]!.children[0]!.part).toBe('worker.return.web1.example');
    expect(publish.children[0]!.startMs).toBeCloseTo(T0 + 20, 3);

    const text = formatTrace(trace);
    expect(text).toContain(`job ${JID}  trace ${traceIdOf(JID)}`);
    expect(text).toMatch(/6 spans, 2 services, 30\.00 ms/);
    expect(text).toMatch(/└─ worker\.publish +\+ +1\.00 ms +7\.00 ms {2}worker-pool/);
  });

  test('a job without spans says so', async () => {
    const trace = await readTrace(traceDir(cachedir), JID);
    expect(formatTrace(trace)).toBe(`No trace of job ${JID} on this host.\n`);
  });

  test('what is learnt on the way belongs to the span, and its error is thrown on', async () => {
    const telemetry = await start('worker-pool');
    const failing = telemetry.span({ name: 'worker.publish' }, (span) => {
      span.jid = JID;
      span.set('targets', 3);
      return Promise.reject(new Error('no room'));
    });
    await expect(failing).rejects.toThrow('no room');
    await telemetry.shutdown();
    const [root] = (await readTrace(traceDir(cachedir), JID)).roots;
    expect(root).toMatchObject({ attributes: { targets: 3 }, error: 'no room' });
  });

  test('a foreign traceparent is a link, not a parent', async () => {
    const telemetry = await start('worker-pool');
    const link = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    telemetry.recordSpan({ ...partOf('worker.publish', 0, 1), link });
    await telemetry.shutdown();
    const [root] = (await readTrace(traceDir(cachedir), JID)).roots;
    expect(root!.links).toEqual([
      { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' },
    ]);
    expect(parseTraceparent('00-00000000000000000000000000000000-b7ad6b7169203331-01')).toBe(
      undefined,
    );
    expect(parseTraceparent('nonsense')).toBe(undefined);
  });

  test('each seam has the parent that the way of a job gives it', () => {
    expect(defaultParent('gateway.publish')).toBe('request');
    expect(defaultParent('minion.a.b')).toBe('publish');
    expect(defaultParent('worker.return.a.b')).toBe('gateway.return.a.b');
    expect(defaultParent('store.a.b')).toBe('worker.return.a.b');
    expect(defaultParent('request')).toBe(undefined);
  });

  test('all services choose the same share of the jobs', () => {
    const maker = new JidMaker();
    const ids = Array.from({ length: 4000 }, (_, i) => traceIdOf(maker.next(T0 + i)));
    const share = ids.filter((id) => isSampled(id, 0.25)).length / ids.length;
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.3);
    expect(ids.some((id) => isSampled(id, 0))).toBe(false);
    expect(ids.every((id) => isSampled(id, 1))).toBe(true);
  });
});

describe('trace files', () => {
  test('a full file is turned over and the oldest go when all are too large', async () => {
    const telemetry = await start(
      'worker-pool',
      optionsOf({ maxFileSize: 2000, maxTotalSize: 6000 }),
    );
    for (let i = 0; i < 40; i += 1) {
      telemetry.recordSpan(partOf(`store.minion-${i}.example`, i, i + 1));
      await telemetry.flush();
    }
    await telemetry.shutdown();
    const dir = traceDir(cachedir);
    const total = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
    expect(readdirSync(dir).length).toBeGreaterThan(1);
    // The file being written is not counted before it is turned over.
    expect(total).toBeLessThan(6000 + 2000);
    expect((await readTrace(dir, JID)).spans).toBeGreaterThan(3);
  });

  test('each line is an OTLP trace request', async () => {
    const telemetry = await start('publisher');
    telemetry.recordSpan(partOf('publish', 0, 1));
    await telemetry.shutdown();
    const [name] = readdirSync(traceDir(cachedir));
    const line = JSON.parse(readFileSync(join(traceDir(cachedir), name!), 'utf8'));
    const { resource, scopeSpans } = line.resourceSpans[0];
    expect(resource.attributes[0]).toEqual({
      key: 'service.name',
      value: { stringValue: 'publisher' },
    });
    expect(scopeSpans[0].spans[0]).toMatchObject({
      traceId: traceIdOf(JID),
      spanId: spanIdOf(JID, 'publish'),
      parentSpanId: spanIdOf(JID, 'record'),
      startTimeUnixNano: '1795194637000250000',
      endTimeUnixNano: '1795194637001250000',
    });
  });

  test('a broken line of a killed process does not hide the others', async () => {
    const telemetry = await start('publisher');
    telemetry.recordSpan(partOf('publish', 0, 1));
    await telemetry.shutdown();
    writeFileSync(join(traceDir(cachedir), 'x-1.jsonl'), `{"resourceSpans":[{"${traceIdOf(JID)}`);
    expect((await readTrace(traceDir(cachedir), JID)).spans).toBe(1);
  });

  test('a directory that can not be written is told once and stops nothing', async () => {
    writeFileSync(join(cachedir, 'traces'), 'a file where the directory should be');
    chmodSync(join(cachedir, 'traces'), 0o400);
    const lines: string[] = [];
    const telemetry = await start('publisher', optionsOf(), lines);
    for (let i = 0; i < 3; i += 1) {
      telemetry.recordSpan(partOf('publish', i, i + 1));
      await telemetry.flush();
    }
    await telemetry.shutdown();
    expect(lines.length).toBe(1);
    expect(telemetry.stats()).toEqual({ recorded: 3, dropped: 3 });
  });

  test('nothing is written where tracing is off', async () => {
    const telemetry = await start('publisher', optionsOf({ enabled: false }));
    telemetry.recordSpan(partOf('publish', 0, 1));
    await telemetry.shutdown();
    expect(existsSync(traceDir(cachedir))).toBe(false);
  });
});

describe('a collector', () => {
  test('gets the same ids through the OpenTelemetry SDK', async () => {
    const bodies: Buffer[] = [];
    const server = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk));
      request.on('end', () => response.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const endpoint = `http://127.0.0.1:${port}`;
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint;
    const telemetry = await startTelemetry({
      service: 'publisher',
      options: optionsOf(),
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
      destination: { write: () => undefined },
    });
    telemetry.recordSpan(partOf('publish', 0, 1));
    await telemetry.shutdown();
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
    server.close();
    const body = Buffer.concat(bodies);
    expect(body.includes(Buffer.from(traceIdOf(JID), 'hex'))).toBe(true);
    expect(body.includes(Buffer.from(spanIdOf(JID, 'publish'), 'hex'))).toBe(true);
    expect(body.includes(Buffer.from(spanIdOf(JID, 'record'), 'hex'))).toBe(true);
    expect(body.includes('publisher')).toBe(true);
    expect(existsSync(traceDir(cachedir))).toBe(false);
  });
});

describe('log', () => {
  test("Salt's levels decide what is written, and secrets are left out", () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const log = createLog({ service: 's', level: 'warning', destination });
    log.info('quiet');
    log.warn({ jid: JID, minion: 'a', token: 'hush', load: { x: 1 } }, 'heard');
    createLog({ service: 's', level: 'quiet', destination }).fatal('nothing');
    expect(lines.length).toBe(1);
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({
      level: 'warn',
      service: 's',
      jid: JID,
      minion: 'a',
      msg: 'heard',
    });
    expect(lines[0]).not.toContain('hush');
    expect(line.load).toBe('[left out]');
  });
});

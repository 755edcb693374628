import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { spanIdOf, traceIdOf } from '@brine/job';
import { describe, expect, test } from 'vitest';
import { cachedir, JID, optionsOf, partOf, start } from '../test/job-spans.ts';
import { readTrace } from './read-trace.ts';
import { startTelemetry, traceDir } from './telemetry.ts';

describe('trace files', () => {
  test('a full file is turned over and the oldest go when all are too large', async () => {
    const sizes = { maxFileBytes: 2000, maxTotalBytes: 6000 };
    const telemetry = await start('worker-pool', optionsOf(), [], sizes);
    for (let i = 0; i < 40; i += 1) {
      telemetry.recordSpan(partOf(`store.minion-${i}.example`, i, i + 1));
      await telemetry.flush();
    }
    await telemetry.shutdown();
    const dir = traceDir(cachedir.path);
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
    const [name] = readdirSync(traceDir(cachedir.path));
    const line = JSON.parse(readFileSync(join(traceDir(cachedir.path), name!), 'utf8'));
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
    writeFileSync(
      join(traceDir(cachedir.path), 'x-1.jsonl'),
      `{"resourceSpans":[{"${traceIdOf(JID)}`,
    );
    expect((await readTrace(traceDir(cachedir.path), JID)).spans).toBe(1);
  });

  test('a directory that can not be written is logged once and stops nothing', async () => {
    writeFileSync(join(cachedir.path, 'traces'), 'a file where the directory should be');
    chmodSync(join(cachedir.path, 'traces'), 0o400);
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
    const telemetry = await start('publisher', optionsOf('off'));
    telemetry.recordSpan(partOf('publish', 0, 1));
    await telemetry.shutdown();
    expect(existsSync(traceDir(cachedir.path))).toBe(false);
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
    expect(existsSync(traceDir(cachedir.path))).toBe(false);
  });
});

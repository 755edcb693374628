import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { traceIdOf } from '@brine/job';
import { describe, expect, test } from 'vitest';
import { cachedir, JID, partOf, start, T0 } from '../test/job-spans.ts';
import { formatTrace } from './format-trace.ts';
import { readTrace } from './read-trace.ts';
import { isChosen, parseTraceparent } from './span.ts';
import { traceDir } from './telemetry.ts';

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

    const trace = await readTrace(traceDir(cachedir.path), JID);
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
    const trace = await readTrace(traceDir(cachedir.path), JID);
    expect(formatTrace(trace)).toBe(`No trace of job ${JID} on this host.\n`);
  });

  test('a foreign traceparent is a link, not a parent', async () => {
    const telemetry = await start('worker-pool');
    const link = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    telemetry.recordSpan({ ...partOf('worker.publish', 0, 1), link });
    await telemetry.shutdown();
    const [root] = (await readTrace(traceDir(cachedir.path), JID)).roots;
    expect(root!.links).toEqual([
      { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' },
    ]);
    expect(parseTraceparent('00-00000000000000000000000000000000-b7ad6b7169203331-01')).toBe(
      undefined,
    );
    expect(parseTraceparent('nonsense')).toBe(undefined);
  });

  test('a span whose cause is not recorded here is a root, and counted', async () => {
    const telemetry = await start('worker-pool');
    telemetry.recordSpan({ ...partOf('store.a', 0, 1), parentPart: 'worker.return.a' });
    await telemetry.shutdown();
    const trace = await readTrace(traceDir(cachedir.path), JID);
    expect(trace).toMatchObject({ spans: 1, orphans: 1 });
    expect(trace.roots[0]).toMatchObject({ part: 'store.a', orphan: true });
    expect(formatTrace(trace)).toContain('1 spans whose cause is not recorded on this host');
  });

  test('the run of a Brine minion is a trace of its own that is shown below its part', async () => {
    const telemetry = await start('minion');
    telemetry.recordSpan(partOf('minion.a.b', 0, 9));
    telemetry.recordSpan({
      name: 'minion run',
      part: 'run.a.b',
      startMs: T0 + 1,
      endMs: T0 + 2,
      attributes: { 'brine.jid': JID },
    });
    await telemetry.shutdown();
    const trace = await readTrace(traceDir(cachedir.path), JID);
    expect(trace.orphans).toBe(0);
    expect(trace.roots[0]!.children.map(({ part }) => part)).toEqual(['run.a.b']);
  });

  test('returns without spans show as a number; a span that came twice counts once', async () => {
    const telemetry = await start('worker-pool');
    telemetry.recordSpan(partOf('publish', 0, 5));
    telemetry.recordSpan(partOf('publish', 0, 3));
    for (const count of [40, 2]) {
      telemetry.recordSpan({
        ...partOf(`left-out.w.${count}`, 5, 6),
        parentPart: 'publish',
        attributes: { 'brine.left_out': count },
      });
    }
    await telemetry.shutdown();
    const trace = await readTrace(traceDir(cachedir.path), JID);
    expect(trace).toMatchObject({ spans: 3, returnsLeftOut: 42 });
    expect(trace.roots[0]!.endMs).toBeCloseTo(T0 + 3, 3);
    expect(formatTrace(trace)).toContain('42 more returns without spans of their own');
  });

  test('a request without a job has one trace, whichever service records a part', async () => {
    const [gateway, worker] = [await start('req-gateway'), await start('worker-pool')];
    const times = { startMs: T0, endMs: T0 + 1 };
    const request = 'abc-1';
    gateway.recordSpan({ name: 'gateway login', request, part: 'gateway.login', ...times });
    worker.recordSpan({
      name: 'worker login',
      request,
      part: 'worker.login',
      parentPart: 'gateway.login',
      ...times,
    });
    await Promise.all([gateway.shutdown(), worker.shutdown()]);
    const spans = readdirSync(traceDir(cachedir.path)).flatMap((name) => {
      const line = JSON.parse(readFileSync(join(traceDir(cachedir.path), name), 'utf8'));
      return line.resourceSpans[0].scopeSpans[0].spans as unknown[];
    });
    const both = spans as { traceId: string; spanId: string; parentSpanId?: string }[];
    const [root, child] = both[0]!.parentSpanId === undefined ? both : both.toReversed();
    expect(child?.traceId).toBe(root?.traceId);
    expect(child?.parentSpanId).toBe(root?.spanId);
  });

  test('a share of texts is chosen, the same ones everywhere', () => {
    const texts = Array.from({ length: 20_000 }, (_, i) => `${JID} minion-${i}.example`);
    const chosen = texts.filter((text) => isChosen(text, 0.01)).length;
    expect(chosen).toBeGreaterThan(140);
    expect(chosen).toBeLessThan(260);
    expect(texts.some((text) => isChosen(text, 0))).toBe(false);
    expect(texts.every((text) => isChosen(text, 1))).toBe(true);
  });
});

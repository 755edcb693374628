import { type Jid, requestSpanIdOf, requestTraceIdOf, spanIdOf, traceIdOf } from '@brine/job';
import type { SpanRecord } from '@brine/telemetry';
import { beforeEach, expect, test } from 'vitest';
import { GatewaySpans, noteContext } from './spans.ts';

const JID = '20261121170000000001';
const request = { id: 'g-1', startMs: 5 };

let spans: SpanRecord[];
let gateway: GatewaySpans;

beforeEach(() => {
  spans = [];
  gateway = new GatewaySpans({ recordSpan: (span) => void spans.push(span) });
});

test('without a note of the worker, or with an unknown one, there is no span', () => {
  gateway.request(undefined, request);
  gateway.request({}, request);
  gateway.request({ trace: '=unheard-of' }, request);
  gateway.request({ trace: JID }, request);
  expect(spans).toEqual([]);
});

test('a return hangs below the minion the worker names, which a version 2 envelope does not', () => {
  gateway.request({ trace: `${JID} web 1` }, request);
  expect(spans).toMatchObject([
    { jid: JID, part: 'gateway.return.web 1', parentPart: 'minion.web 1', startMs: 5 },
  ]);
});

test('a publish is the root, unless the asking command records one', () => {
  gateway.request({ trace: `+${JID} 0  ` }, request);
  gateway.request({ trace: `+${JID} 1 r9 ` }, request);
  expect(spans.map(({ part, parentPart }) => [part, parentPart])).toEqual([
    ['gateway.publish', undefined],
    ['gateway.publish#r9', 'request'],
  ]);
});

test('the context that the client sent is a link', () => {
  const link = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  gateway.request({ trace: `+${JID} 0  ${link}` }, request);
  expect(spans[0]?.link).toBe(link);
});

test.each(['login', 'pillar', 'event', 'query'])('a %s is a trace of its request', (kind) => {
  gateway.request({ trace: `=${kind}` }, { ...request, minion: 'web1' });
  expect(spans).toMatchObject([{ request: 'g-1', part: `gateway.${kind}` }]);
  expect(spans[0]?.jid).toBe(undefined);
  expect(spans[0]?.attributes).toEqual({ 'salt.minion': 'web1' });
});

test.each([`${JID} web1`, `+${JID} 0 r9 `, '=login'])(
  'the exemplar of %s names the span that is recorded',
  (trace) => {
    gateway.request({ trace }, request);
    const [span] = spans;
    const { traceId, spanId } = noteContext(trace, request.id)!;
    const jid = span?.jid as Jid | undefined;
    const part = span?.part ?? '';
    expect(traceId).toBe(jid === undefined ? requestTraceIdOf(request.id) : traceIdOf(jid));
    expect(spanId).toBe(
      jid === undefined ? requestSpanIdOf(request.id, part) : spanIdOf(jid, part),
    );
  },
);

test('without a note there is no exemplar', () => {
  expect(noteContext(undefined, 'g-1')).toBe(undefined);
  expect(noteContext('=unheard-of', 'g-1')).toBe(undefined);
});

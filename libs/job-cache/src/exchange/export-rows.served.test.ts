import { jobRow, returnLoad, returnRow } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { EXCHANGE_KINDS, exchangeHead, exchangeLines, ExchangeReader } from './exchange-format.ts';

const { cache } = await jobCacheScene();

test('a job goes out page by page, every byte of its returns as it came', async () => {
  const jid = '20260102030405000001';
  const minions = Array.from({ length: 1_500 }, (_, index) => `web${index}`);
  await cache.saveJobs([jobRow(jid, { minions, deadlineAt: Date.now() })]);
  const entries: [SaltValue, SaltValue][] = [['nul', 'a\0b']];
  entries.push(['é', Number.NaN]);
  const odd = returnLoad(jid, 'web0', new Map(entries), { retcode: 1 });
  await cache.saveReturns([
    ...minions.slice(1).map((id, index) => returnRow(jid, id, index, { seq: index + 10 })),
    returnRow(jid, 'web0', 1, { seq: 1, load: odd }),
  ]);
  await cache.saveReturns([returnRow(jid, 'web1', 'another', { seq: 5_000 })]);

  const reader = new ExchangeReader();
  reader.read(exchangeHead(0));
  const found: Record<string, number> = {};
  for (const kind of EXCHANGE_KINDS) {
    let after: string | undefined;
    do {
      const page = await cache.exportRows(jid, kind, after);
      for (const line of page.lines) {
        const row = reader.read(line);
        found[kind] = (found[kind] ?? 0) + 1;
        if (kind !== 'return' || row?.fields['id'] !== 'web0') continue;
        const raw = Buffer.from(String(row.fields['raw']), 'base64');
        expect(raw.equals(odd)).toBe(true);
      }
      after = page.next;
    } while (after !== undefined);
  }
  expect(found).toEqual({ job: 1, return: 1_500, evidence: 1 });
  expect(reader.read(reader.tail())).toBeUndefined();
  expect(() => reader.finish()).not.toThrow();
  expect((await cache.exportRows('20260102030405000009', 'job')).lines).toEqual([]);
});

test('the error for a damaged file names the line', () => {
  const head = exchangeHead(0);
  const seen = { kind: 'sighting', jid: 'j', id: 'm', seen: 'running', count: 1, detail: {} };
  const time = '2026-11-22T12:00:00.123456+00:00';
  const good = JSON.stringify({ ...seen, first_at: time, last_at: time });
  const read = (...lines: readonly string[]): void => {
    const reader = new ExchangeReader();
    for (const line of lines) reader.read(line === 'end' ? reader.tail() : line);
    reader.finish();
  };
  expect(() => read(head, good, 'end')).not.toThrow();
  const cases: [readonly string[], string][] = [
    [['{}'], 'line 1: no file of jobs.export'],
    [[head.replace('"version":1', '"version":2')], 'line 1: version 2'],
    [[head, '{'], 'line 2: no JSON'],
    [[head, '{"kind":"x"}'], 'line 2: no kind of line that is known'],
    [[head, good.replace('"count":1', '"count":"1"')], 'line 2: sighting without a good "count"'],
    [[head, good], 'line 3: the end is missing'],
    [[head, '{"kind":"end","lines":2,"sha256":""}'], 'line 2: read 1 lines, but the last'],
    [[head, '{"kind":"end","lines":1,"sha256":""}'], 'line 2: the lines before it were changed'],
    [[head, 'end', good], 'line 3: there is more after the end'],
  ];
  for (const [lines, text] of cases) expect(() => read(...lines)).toThrow(text);
});

test('lines are found wherever a file is cut', async () => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const byte of Buffer.from('é\u2028a\nb\r\n\nc')) yield Buffer.of(byte);
  }
  const lines: string[] = [];
  for await (const line of exchangeLines(bytes())) lines.push(line);
  expect(lines).toEqual(['é\u2028a', 'b\r', '', 'c']);
});

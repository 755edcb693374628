import { AUDIT_BEGINNING, AuditSeal } from '@brine/crypt';
import type { AuditRow } from '@brine/job';
import { vectorFile } from '@brine/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AuditWriter } from './audit-writer.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');
const seal = AuditSeal.fromMasterKey(keys[0]!.pem);
const act = { kind: 'publish', outcome: 'done', principal: 'root' } as const;

interface Stream {
  readonly rows: AuditRow[];
  readonly ids: string[];
  away: boolean;
}

function writerOn(stream: Stream): AuditWriter {
  const events = {
    append: (event: { readonly body: Uint8Array; readonly msgId?: string }) => {
      stream.ids.push(event.msgId ?? '');
      if (stream.away) return Promise.reject(new Error('away'));
      stream.rows.push(...(JSON.parse(Buffer.from(event.body).toString()) as AuditRow[]));
      return Promise.resolve({ duplicate: false, seq: 1 });
    },
  };
  return new AuditWriter(events, seal, { name: 'w', onTrouble: () => undefined });
}

test('rows are a chain without gaps, ended by a last row', async () => {
  const stream: Stream = { rows: [], ids: [], away: false };
  const writer = writerOn(stream);
  for (let n = 0; n < 450; n += 1) writer.record({ ...act, target: String(n) });
  await writer.close();
  expect(stream.rows.map(({ n }) => n)).toEqual(Array.from({ length: 451 }, (_, n) => n + 1));
  let before = AUDIT_BEGINNING;
  for (const row of stream.rows) {
    expect(row.before).toBe(before);
    expect(seal.of(row, before)).toBe(row.seal);
    before = row.seal;
  }
  expect(JSON.parse(stream.rows.at(-1)!.body)).toMatchObject({ outcome: 'end of record' });
});

test('an act without room counts in the next row, and a batch is tried under one id', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stream: Stream = { rows: [], ids: [], away: true };
  const writer = writerOn(stream);
  for (let n = 0; n < 11_000; n += 1) writer.record(act);
  await vi.advanceTimersByTimeAsync(250);
  const missing = writer.leftOut;
  expect(missing).toBe(1_000);
  stream.away = false;
  await vi.advanceTimersByTimeAsync(1_500);
  writer.record(act);
  const closed = writer.close();
  await vi.advanceTimersByTimeAsync(250);
  await closed;
  expect(stream.ids[0]).toBe(stream.ids[1]);
  const entry = stream.rows.map(
    ({ body }) => (JSON.parse(body) as { leftOut?: number }).leftOut ?? 0,
  );
  expect(entry.reduce((sum, one) => sum + one, 0)).toBe(missing);
  expect(stream.rows.map(({ n }) => n)).toEqual(stream.rows.map((_, index) => index + 1));
});

test('a row is storable whatever strangers put into it, and an id stands whole in it', async () => {
  const stream: Stream = { rows: [], ids: [], away: false };
  const writer = writerOn(stream);
  const hostile = ['a\0b', '\ud83d', '\ude00x', `${'a'.repeat(254)}😀b`, '😀'.repeat(1 << 19)];
  for (const text of hostile) writer.record({ ...act, principal: text, claimed: text, fun: text });
  writer.record({ ...act, target: 'x'.repeat(255) });
  await writer.close();
  for (const { body } of stream.rows) {
    const entry = Object.values(JSON.parse(body) as Record<string, string>).join('');
    expect(entry).not.toMatch(/\0|\p{Surrogate}/u);
    expect(body.length).toBeLessThan(5_000);
  }
  expect(JSON.parse(stream.rows[5]!.body)).toMatchObject({ target: 'x'.repeat(255) });
});

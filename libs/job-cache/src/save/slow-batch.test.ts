import { expect, test } from 'vitest';
import { asJobCacheError } from '../connection/errors.ts';
import type { PreparedRow } from './batch.ts';
import { writeInBatches } from './batch.ts';
import { SlowRows } from './batch.ts';

const TOO_SLOW = Object.assign(new Error('statement timeout'), { code: '57014' });

interface Table {
  readonly written: Set<string>;
  readonly refused: string[];
  statements: number;
  isSlow: (keys: readonly string[]) => boolean;
}

/** A table that takes too long for some statements. */
function tableThat(isSlow: Table['isSlow']): Table & { give: (count: number) => Promise<void> } {
  const slow = new SlowRows();
  const table: Table = { written: new Set(), refused: [], statements: 0, isSlow };
  const give = (count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, n): PreparedRow => {
      return { key: `row ${n}`, json: '{', raw: new Uint8Array() };
    });
    return writeInBatches(rows, {
      slow,
      write: (batch) => {
        table.statements += 1;
        const keys = batch.map(({ key }) => key);
        if (table.isSlow(keys)) return Promise.reject(TOO_SLOW);
        for (const key of keys) table.written.add(key);
        return Promise.resolve();
      },
      refuse: ({ key }, error, isSure) => {
        if (!isSure) return Promise.reject(asJobCacheError(error));
        table.refused.push(key);
        return Promise.resolve();
      },
    });
  };
  return Object.assign(table, { give });
}

test('while all statements are slow no row is put away, and few are tried', async () => {
  const table = tableThat(() => true);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await expect(table.give(500)).rejects.toMatchObject({ retryable: true });
  }
  expect(table.refused).toEqual([]);
  expect(table.written.size).toBe(0);
  expect(table.statements).toBeLessThan(40);
  table.isSlow = () => false;
  await table.give(500);
  expect(table.written.size).toBe(500);
});

test('one slow row of 500 costs four slow statements, and is put away at the third try', async () => {
  let slowStatements = 0;
  const table = tableThat((keys) => {
    const isSlow = keys.includes('row 77');
    slowStatements += Number(isSlow);
    return isSlow;
  });
  await expect(table.give(500)).rejects.toMatchObject({ retryable: true, sqlState: '57014' });
  expect(table.written.size).toBe(499);
  expect(slowStatements).toBe(4);
  await expect(table.give(500)).rejects.toMatchObject({ retryable: true });
  expect(table.refused).toEqual([]);
  await table.give(500);
  expect(table.refused).toEqual(['row 77']);
  expect(slowStatements).toBe(6);
});

test('a slow row alone in the world is tried on: nothing shows whose fault it is', async () => {
  const table = tableThat(() => true);
  for (let attempt = 0; attempt < 5; attempt += 1) await expect(table.give(1)).rejects.toThrow();
  expect(table.refused).toEqual([]);
});

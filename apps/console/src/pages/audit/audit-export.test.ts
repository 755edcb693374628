import type { AuditedAct } from '@brine/api/runs';
import { expect, test } from 'vitest';
import { EXPORT_MAX, exported } from './audit-export.ts';

function pagesOf(total: number) {
  const asked: number[] = [];
  const ask = (limit: number, after: string) => {
    asked.push(limit);
    const first = Number(after);
    const count = Math.min(limit, total - first);
    const items = Array.from({ length: count }, (_, at): AuditedAct => {
      return { row: `w ${first + at}`, at: '', kind: 'key', outcome: 'done' };
    });
    return Promise.resolve({ items, next: first + count < total ? String(first + count) : null });
  };
  return { asked, ask };
}

test('a file has all acts, each once', async () => {
  const { ask } = pagesOf(1_234);
  const { acts, isWhole } = await exported(ask);
  expect(new Set(acts.map(({ row }) => row)).size).toBe(1_234);
  expect(isWhole).toBe(true);
});

test('a file ends at its bound, and knows it', async () => {
  const { ask, asked } = pagesOf(EXPORT_MAX + 1);
  const { acts, isWhole } = await exported(ask);
  expect(acts).toHaveLength(EXPORT_MAX);
  expect(isWhole).toBe(false);
  expect(Math.max(...asked)).toBeLessThanOrEqual(500);
});

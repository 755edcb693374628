import { describe, expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';

describe('the newest rows', async () => {
  const { cache } = await jobCacheScene();
  const MS = Date.UTC(2026, 10, 29, 20, 45);

  test('come page by page, each once, also with equal times', async () => {
    const rows = ['a', 'b c'].flatMap((writer) =>
      [1, 2, 3].map((n) => {
        const at = new Date(MS + Math.floor(n / 2)).toISOString();
        const body = JSON.stringify({ at, kind: n === 3 ? 'key' : 'login', principal: writer });
        return { writer, n, body, before: '', seal: '' };
      }),
    );
    await cache.audit.save(rows);
    const all = await cache.audit.newest({ limit: 10 });
    const nameOf = ({ writer, n }: { writer: string; n: number }): string => `${writer} ${n}`;
    expect(all.map(nameOf)).toEqual(['a 3', 'a 2', 'b c 3', 'b c 2', 'a 1', 'b c 1']);
    const found: string[] = [];
    let before: { at: number; writer: string; n: number } | undefined;
    for (let page = 0; page < 10; page += 1) {
      const [row] = await cache.audit.newest({ limit: 1, ...(before && { before }) });
      if (row === undefined) break;
      found.push(nameOf(row));
      const { at } = JSON.parse(row.body) as { readonly at: string };
      before = { at: Date.parse(at), writer: row.writer, n: row.n };
    }
    expect(found).toEqual(all.map(nameOf));
    const since = await cache.audit.newest({ limit: 10, since: MS + 1, kind: 'key' });
    expect(since.map(nameOf)).toEqual(['a 3', 'b c 3']);
    expect(await cache.audit.newest({ limit: 10, since: MS + 2 })).toEqual([]);
    const until = await cache.audit.newest({ limit: 10, until: MS + 1 });
    expect(until.map(nameOf)).toEqual(['a 1', 'b c 1']);
    const between = await cache.audit.newest({ limit: 10, since: MS + 1, until: MS + 1 });
    expect(between).toEqual([]);
  });
});

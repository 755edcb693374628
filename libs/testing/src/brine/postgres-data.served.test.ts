import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@brine/postgres-server';
import pg from 'pg';
import { expect, test } from 'vitest';
import { placePostgresData } from './postgres-data.ts';

test('a server starts on a copy as it is: same password and identity, its own rows', async () => {
  const found: unknown[] = [];
  for (const name of ['one', 'other']) {
    const dir = await mkdtemp(join(tmpdir(), 'brine-copy-'));
    try {
      await chmod(dir, 0o755);
      await placePostgresData(join(dir, 'postgres'));
      const password = (await readFile(join(dir, 'postgres', 'services-password'), 'utf8')).trim();
      const server = await startPostgres({ dir: join(dir, 'postgres') });
      try {
        const client = new pg.Client({ connectionString: server.url });
        await client.connect();
        await client.query(`CREATE TABLE own AS SELECT '${name}' AS name`);
        const { rows } = await client.query<{ id: string }>(
          'SELECT system_identifier::text AS id FROM pg_control_system()',
        );
        await client.end();
        // Data that initdb made here would have another.
        expect(new URL(server.url).password).toBe(password);
        found.push([rows[0]?.id, password]);
      } finally {
        await server.stop();
      }
    } finally {
      await rm(dir, { recursive: true });
    }
  }
  expect(found[0]).toEqual(found[1]);
});

// Files of a layer share a process, so what one leaves behind disturbs another. This fails the file
// that left it: directories, databases, child processes, listening sockets.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LAYER_POSTGRES } from '@brine/testing';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, expect, inject } from 'vitest';

const postgres = inject('postgres');
process.env[LAYER_POSTGRES] = postgres;

const usual = process.env['TMPDIR'];
const own = mkdtempSync(join(tmpdir(), 'brine-file-'));
// PostgreSQL runs as another user, who has to enter the directory.
chmodSync(own, 0o755);
// What tsx compiled and keys of simulated minions stay for the next file and the next run.
const caches = ['brine-test-keys', `tsx-${process.getuid?.() ?? 0}`];
for (const name of caches) {
  mkdirSync(join(tmpdir(), name), { recursive: true });
  symlinkSync(join(tmpdir(), name), join(own, name));
}
process.env['TMPDIR'] = own;

/** As Node names what keeps a process alive. */
const KINDS = ['ProcessWrap', 'TCPServerWrap', 'PipeServerWrap'];

function handles(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => KINDS.includes(kind));
}

async function databases(): Promise<string[]> {
  const client = new pg.Client({ connectionString: postgres });
  await client.connect();
  try {
    const text = `SELECT datname FROM pg_database WHERE datname LIKE 'test\\_${process.pid}\\_%'`;
    const { rows } = await client.query<{ datname: string }>(text);
    return rows.map(({ datname }) => datname);
  } finally {
    await client.end();
  }
}

const before = handles();

// Hooks that are set later run earlier: those of the file have ended what they began by now.
afterAll(async () => {
  try {
    await until('the file leaves nothing behind', async () => {
      const files = readdirSync(own).sort();
      const left = { files, databases: await databases(), handles: handles() };
      expect(left).toEqual({ files: caches, databases: [], handles: before });
      return true;
    });
  } finally {
    if (usual === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usual;
    rmSync(own, { recursive: true, force: true });
  }
});

/**
 * Rows per second of saveReturns on an embedded PostgreSQL of its own, CPU per row of ours and of
 * PostgreSQL, and the time of a large return.
 * Run: npx tsx --conditions=source libs/job-cache/bench/save-returns.ts [rows] [minions]
 */
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@brine/postgres-server';
import { mapOf, pack } from '@brine/wire';
import { JobCache } from '../src/job-cache.ts';
import type { ReturnRow } from '../src/save/rows.ts';

const ROWS = Number(process.argv[2] ?? 20_000);
/** With fewer minions than rows there are several jobs. */
const MINIONS = Number(process.argv[3] ?? ROWS);
const BATCH = 500;
/** Clock ticks of /proc/<pid>/stat per second, on every Linux. */
const TICKS = 100;

/** A return of about 300 bytes, or of about 1.5 KB with a nested value. */
function returnRow(prefix: string, n: number, text: string): ReturnRow {
  const id = `minion-${n % MINIONS}.example.org`;
  const jid = `${prefix}${String(Math.floor(n / MINIONS)).padStart(4, '0')}`;
  const load = mapOf({
    cmd: '_return',
    id,
    jid,
    fun: 'cmd.run',
    fun_args: ['uptime'],
    return: mapOf({ stdout: text, stderr: '', pid: n, retcode: 0 }),
    retcode: 0,
    success: true,
  });
  return { jid, id, load: pack(load), receivedAt: Date.now(), incarnation: 'b', seq: n };
}

async function measure(cache: JobCache, jid: string, text: string, writers: number): Promise<void> {
  const rows = Array.from({ length: ROWS }, (_, n) => returnRow(jid, n, text));
  const cpu = process.cpuUsage();
  const serverCpu = serverSeconds();
  const start = performance.now();
  let at = 0;
  const write = async (): Promise<void> => {
    while (at < rows.length) {
      const some = rows.slice(at, (at += BATCH));
      await cache.saveReturns(some);
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(cpu);
  const perRow = (used.user + used.system) / ROWS;
  const serverPerRow = ((serverSeconds() - serverCpu) / ROWS) * 1e6;
  const rate = Math.round(ROWS / seconds);
  const size = rows[0]?.load.byteLength ?? 0;
  const cpuText = `${perRow.toFixed(1)} us of ours, ${serverPerRow.toFixed(1)} us of PostgreSQL`;
  console.log(`${size} B, ${writers} writer(s): ${rate} rows/s, CPU per row: ${cpuText}`);
}

/** CPU seconds of the server and its children so far. */
function serverSeconds(): number {
  let ticks = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(pid) === server.pid()) ticks += Number(fields[13]) + Number(fields[14]);
      if (Number(pid) !== server.pid() && Number(fields[1]) !== server.pid()) continue;
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It ended meanwhile.
    }
  }
  return ticks / TICKS;
}

const dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
await chmod(dir, 0o755);
const server = await startPostgres({ dir });
const cache = await JobCache.connect(server.url);
try {
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  let made = 0;
  for (const text of ['12:00:00 up 1 day', 'Uptime of this host. '.repeat(60)]) {
    for (const writers of [1, 2, 2]) {
      made += 1;
      await measure(cache, `${day}000000${String(made).padStart(2, '0')}`, text, writers);
    }
  }
  for (const megabytes of [1, 10, 50]) {
    const start = performance.now();
    const text = 'some line of output\n'.repeat((megabytes * 1024 * 1024) / 20);
    await cache.saveReturns([returnRow(`${day}00000099`, megabytes, text)]);
    console.log(`one return of ${megabytes} MB: ${Math.round(performance.now() - start)} ms`);
  }
} finally {
  await cache.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}

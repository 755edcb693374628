import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrineMaster, SaltConfig, SaltHome, SaltVenv } from '@brine/testing';
import type { Pool } from 'pg';

const WAIT_MS = 120_000;

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The options of the returner (Salt: salt/returners/pgjsonb.py). */
export function returnerOptions(url: string): SaltConfig {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    'returner.pgjsonb.host': hostname,
    'returner.pgjsonb.port': Number(port),
    'returner.pgjsonb.user': decodeURIComponent(username),
    'returner.pgjsonb.pass': decodeURIComponent(password),
    'returner.pgjsonb.db': pathname.slice(1),
  };
}

/**
 * The returner gives whole returns and knows no targets (its save_minions is empty), in a stock
 * master too: compared is what both have.
 */
export function asPgjsonbTells(job: Json): Json {
  const { Minions: _targets, Result: results, ...rest } = job;
  const kept = Object.entries(results as Record<string, Json>).map(([id, full]) => [
    id,
    Object.fromEntries(
      ['return', 'retcode', 'success', 'out'].flatMap((key) =>
        full[key] === undefined ? [] : [[key, full[key]]],
      ),
    ),
  ]);
  return { ...rest, Result: Object.fromEntries(kept) as Json };
}

/** The counted returns of a job, each with the number of others that are kept as evidence. */
export async function countedReturns(
  pool: Pool,
  jid: string,
): Promise<readonly { readonly id: string; readonly evidence: number }[]> {
  const { rows } = await pool.query<{ id: string; evidence: number }>(
    `SELECT id, (SELECT count(*)::integer FROM brine.evidence e
       WHERE e.jid = r.jid AND e.id = r.id) AS evidence
     FROM brine.returns r WHERE jid = $1 ORDER BY id`,
    [jid],
  );
  return rows;
}

/** A configuration of a stock tool: the master's, with one job cache and its own framing. */
export async function stockConfig(
  master: BrineMaster,
  version: string,
  framing: string,
  cache: string,
): Promise<SaltHome> {
  const configDir = join(master.sandbox.dir, `cli-${version}-${cache}`);
  await mkdir(configDir);
  await chmod(configDir, 0o755);
  const sockDir = join(master.home.sockDir, framing);
  const lines = (await master.file('master'))
    .split('\n')
    .filter((line) => !/^(sock_dir|brine):/.test(line));
  lines.push(`sock_dir: ${JSON.stringify(sockDir)}`, `master_job_cache: ${cache}`);
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
  return { ...master.home, configDir, sockDir };
}

/** Waits until something is so; throws an Error after `waitMs`, default 120 s. */
export async function waitFor(
  what: string,
  isSo: () => Promise<boolean>,
  waitMs = WAIT_MS,
): Promise<void> {
  const until = Date.now() + waitMs;
  while (!(await isSo())) {
    if (Date.now() > until) throw new Error(`${what}: not within ${waitMs} ms`);
    await sleep(100);
  }
}

/** Runs Salt's Python; throws an Error where it does not end with 0. */
export function python(
  venv: SaltVenv,
  args: readonly string[],
  input: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(venv.python, [...args], { env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve({ stdout, stderr });
      else reject(new Error(`python ended with ${code}: ${stderr}`));
    });
    child.stdin.end(input);
  });
}

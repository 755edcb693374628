import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** Largest file; sys.list_functions never returns so much. */
const FILE_MAX_BYTES = 4 * 1024 * 1024;

/** Functions to offer before `brine completion refresh` has run. */
const COMMON: readonly string[] = [
  ...['cmd.run', 'cmd.run_all', 'cmd.script', 'config.get', 'cp.get_file', 'disk.usage'],
  ...['event.send', 'file.find', 'grains.get', 'grains.item', 'grains.items', 'mine.get'],
  ...['network.interfaces', 'network.ip_addrs', 'pillar.get', 'pillar.item', 'pillar.items'],
  ...['pkg.install', 'pkg.list_pkgs', 'pkg.remove', 'pkg.upgrade', 'pkg.version'],
  ...['saltutil.kill_job', 'saltutil.refresh_grains', 'saltutil.refresh_pillar'],
  ...['saltutil.running', 'saltutil.sync_all', 'service.restart', 'service.start'],
  ...['service.status', 'service.stop', 'state.apply', 'state.highstate', 'state.show_top'],
  ...['state.single', 'state.sls', 'status.uptime', 'sys.doc', 'sys.list_functions'],
  ...['system.reboot', 'test.echo', 'test.ping', 'test.version', 'test.versions', 'user.add'],
];

/** The file that stores the functions of a master's minions for completion. */
export function functionsFile(
  configDir: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const base = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  const name = createHash('sha256').update(resolve(configDir)).digest('hex').slice(0, 16);
  return join(base, 'brine', 'completion', `functions-${name}`);
}

/** The stored functions; common ones if there are none. */
export async function knownFunctions(file: string): Promise<readonly string[]> {
  try {
    if ((await stat(file)).size > FILE_MAX_BYTES) return COMMON;
    const names = (await readFile(file, 'utf8')).split('\n').filter((name) => name !== '');
    return names.length > 0 ? names : COMMON;
  } catch {
    // Missing or unreadable: completion prints no errors, and offers the common ones.
    return COMMON;
  }
}

/** Stores functions. Names of minions that a shell would not read as one word are dropped. */
export async function keepFunctions(file: string, names: Iterable<string>): Promise<number> {
  const good = [...new Set(names)].filter((name) => /^[\w-]{1,100}\.[\w.-]{1,100}$/.test(name));
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(part, `${good.sort().join('\n')}\n`, { mode: 0o600 });
  await rename(part, file);
  return good.length;
}

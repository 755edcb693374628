import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { childEnvironment } from '@brine/environment';
import type { Account } from './account.ts';
import { noAccess, StartRefusal } from './start-refusal.ts';

/** Ports below this need root, unless the host is configured otherwise. */
const ROOT_PORTS = 1024;
const PORTS_FILE = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
const CHECK_MS = 30_000;

/** Script that switches to an account and prints what it can not read. */
const CHECK = `
const { accessSync, constants } = require('node:fs');
const { dirname } = require('node:path');
const { name, gid, uid, files, logFiles } = JSON.parse(process.argv[1]);
process.initgroups(name, gid);
process.setgid(gid);
process.setuid(uid);
const say = (found) => {
  process.stdout.write(JSON.stringify(found));
  process.exit(0);
};
for (const file of files) {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    say({ file });
  }
}
for (const logFile of logFiles) {
  try {
    accessSync(dirname(logFile), constants.X_OK);
  } catch (error) {
    // Missing directories are made later, accessible for the account.
    if (error.code === 'EACCES') say({ logFile });
  }
}
`;

/**
 * Refuses a start whose services could not run as their account: they run this Node, and read
 * Brine's files and the configuration as that account. Log files must be in directories that it may
 * enter.
 * @throws StartRefusal
 */
export function checkReach(
  account: Account,
  files: readonly string[],
  logFiles: readonly string[],
): void {
  if (!account.isOther) return;
  const { name, uid, gid } = account;
  const given = JSON.stringify({ name, uid, gid, files: [process.execPath, ...files], logFiles });
  const tried = spawnSync(process.execPath, ['-e', CHECK, given], {
    cwd: '/',
    env: childEnvironment(process.env),
    encoding: 'utf8',
    timeout: CHECK_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (tried.status !== 0) {
    const why = tried.error?.message ?? tried.stderr.trim().split('\n').at(-1) ?? '';
    throw new StartRefusal(1, `this process can not become ${name}: ${why}`);
  }
  if (tried.stdout === '') return;
  const { file: closed, logFile } = JSON.parse(tried.stdout) as Record<string, string | undefined>;
  if (logFile !== undefined) throw new StartRefusal(1, noAccess(logFile));
  throw new StartRefusal(
    1,
    `user is ${name}, which can not read ${closed}: let it (chgrp ${name}, chmod g+r, and x on ` +
      'the directories above), or put it where it may',
  );
}

/**
 * Refuses ports below `first`, which need root: services listen as their account.
 * @throws StartRefusal
 */
export function checkPorts(
  account: Account,
  ports: readonly number[],
  first = firstFreePort(),
): void {
  if (account.uid === 0) return;
  const low = ports.find((port) => port > 0 && port < first);
  if (low === undefined) return;
  throw new StartRefusal(
    1,
    `port ${low} is for root alone, and user is ${account.name}: choose ports from ${first} on, ` +
      `or set net.ipv4.ip_unprivileged_port_start`,
  );
}

function firstFreePort(): number {
  try {
    return Number(readFileSync(PORTS_FILE, 'utf8'));
  } catch {
    return ROOT_PORTS; // Not Linux.
  }
}

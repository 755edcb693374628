import { lookupUser } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import type { Owner } from '@brine/files';
import { openServers, type Servers } from '@brine/master-host/servers';
import { createLog, type Log } from '@brine/telemetry';
import type { Terminal } from '../terminal.ts';
import { type BackupCommand, refused } from './in-words.ts';

/**
 * The owner that files of the master must have, where this process can give files away.
 * @throws Exit where root finds no such user
 */
export async function masterOwner(
  command: BackupCommand,
  { user }: MasterOptions,
): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0 || user === 'root') return undefined;
  const found = await lookupUser(user);
  if (found !== undefined) return found;
  throw refused(command, `this host has no user ${user}, which 'user' names`);
}

/** The master's servers, for snapshots and their restore. @throws as {@link openServers} */
export function backupServers(
  options: MasterOptions,
  command: BackupCommand,
  terminal: Terminal,
): Promise<Servers> {
  return openServers(options, {
    as: 'admin',
    log: logOf(command, terminal),
    refused: (text) => refused(command, text),
  });
}

/** Warnings of the servers go to the terminal, a line each. */
function logOf(command: BackupCommand, terminal: Terminal): Log {
  const write = (line: string): void => {
    const { msg } = JSON.parse(line) as { readonly msg?: string };
    terminal.err(`brine ${command}: ${msg ?? line.trim()}\n`);
  };
  return createLog({ service: command, level: 'warning', destination: { write } });
}

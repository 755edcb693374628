import { join } from 'node:path';
import { textNowIfThere } from '@brine/files';
import { PASSWORD_FILES } from './initialise.ts';
import { SERVICES_ROLE, SUPERUSER, urlFor } from './roles.ts';

/** The line of postmaster.pid that has the port (PostgreSQL: src/include/utils/pidfile.h). */
const PORT_LINE = 3;

/**
 * The URL of the server that another process of this host runs below a directory. Undefined if none
 * runs.
 */
export function runningPostgresUrl(dir: string): string | undefined {
  const lines = textNowIfThere(join(dir, 'data', 'postmaster.pid'))?.split('\n') ?? [];
  const port = Number(lines[PORT_LINE]?.trim() ?? '');
  if (!Number.isInteger(port) || port <= 0) return undefined;
  const services = textNowIfThere(join(dir, PASSWORD_FILES.services));
  if (services !== undefined) return urlFor(SERVICES_ROLE, services.trim(), port);
  // A master of 0.2.0 still runs: it has one role.
  const superuser = textNowIfThere(join(dir, PASSWORD_FILES.superuser));
  return superuser && urlFor(SUPERUSER, superuser.trim(), port);
}

import { loadMasterConfig } from '@brine/config';
import { EXIT, Exit } from '../exit-codes.ts';
import { textValue } from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

const FORM = brineForm(
  'postgres',
  `Brings the schema of the job cache up to this release and gives three roles their rights. Missing
roles are made, without log-in. Set DATABASE_URL=postgres://<owner>@<host>/<database> with the owner
of the database: it is needed once, and again before each new release. The services do not need it:

  brine_store     for the job-cache-returner: reads and writes rows and their days, makes no tables
  brine_returner  for minions and masters with the returner pgjsonb: adds rows, reads no returns
  brine_reader    for dashboards and salt-run: reads jobs and returns

Let a user of each log in, and give the store's to the job-cache-returner (brine.postgres.url):

  CREATE ROLE store LOGIN PASSWORD '...' IN ROLE brine_store;`,
  [],
  '[options] roles',
);

/** `brine postgres roles`: schema and rights, as the owner. Returns the exit code. */
export async function runPostgres(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  if (options.args.length !== 1 || options.args[0] !== 'roles') throw parser.error('give roles');
  const configDir = textValue(options, 'config_dir');
  const { url } = loadMasterConfig({ configDir }).options.brine.postgres;
  if (url === undefined || url === '') {
    throw new Exit(
      EXIT.usage,
      'brine postgres: no PostgreSQL is configured: set DATABASE_URL, with its owner\n',
    );
  }
  const { grantRoles, JobCacheError } = await import('@brine/job-cache');
  try {
    const reached = await grantRoles(url);
    terminal.out(
      `The schema is at ${reached}; brine_store, brine_returner, brine_reader are set.\n`,
    );
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof JobCacheError)) throw error;
    throw new Exit(EXIT.generic, `brine postgres: ${error.message}\n`);
  }
}

import pg from 'pg';

/** The variable with the address of a layer's PostgreSQL, whose database is the template. */
export const LAYER_POSTGRES = 'BRINE_TEST_POSTGRES';

/** A database of one test, or of one test file. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** Ends its connections, and removes it. */
  drop(): Promise<void>;
}

let made = 0;

/**
 * A database with Brine's schema in the PostgreSQL that the files of a layer share. It is a copy of
 * a migrated one, which takes some 0.1 s; a server of its own takes 0.6 to 1 s. Tests that stop the
 * server, or make roles, which are for all its databases, use `startPostgres`.
 *
 * @throws Error in a layer without such a server.
 */
export async function makeDatabase(): Promise<TestDatabase> {
  const layer = process.env[LAYER_POSTGRES];
  if (layer === undefined) throw new Error('no PostgreSQL here: name the file *.served.test.ts');
  made += 1;
  const name = `test_${process.pid}_${made}`;
  const template = new URL(layer).pathname.slice(1);
  await administer(layer, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const drop = (): Promise<void> => administer(layer, `DROP DATABASE ${name} WITH (FORCE)`);
  return { url: otherDatabase(layer, name), drop, [Symbol.asyncDispose]: drop };
}

/** Runs a statement on another database: copying the template needs it without connections. */
async function administer(layer: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: otherDatabase(layer, 'postgres') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function otherDatabase(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

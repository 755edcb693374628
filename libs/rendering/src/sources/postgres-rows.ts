import type { SaltMap, SaltValue } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import pg from 'pg';
import { addRows, sqlQueries } from './sql-rows.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 20_000;
const MAX_ROWS = 100_000;

/** The option `postgres` of the master. */
export interface PostgresSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Readers for types whose texts differ from their values, by OID (pg_type.dat). */
const READERS: Readonly<Record<number, (text: string) => SaltValue>> = {
  16: (text) => text === 't',
  20: (text) => wholeNumber(text),
  21: Number,
  23: Number,
  114: readJson,
  3802: readJson,
  700: Number,
  701: Number,
};

/**
 * The rows of PostgreSQL about a minion; `%s` in a query is its id (Salt: salt/pillar/postgres.py).
 * A query that fails ends the list; the rows before it count.
 * @throws Error of the connection
 */
export async function readPostgres(
  id: string,
  args: SaltValue,
  settings: PostgresSettings,
  log: (level: 'error', text: string) => void,
): Promise<SaltMap> {
  const result: SaltMap = new Map();
  const client = new pg.Client({
    ...settings,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    types: { getTypeParser: (oid: number) => READERS[oid] ?? ((text: string) => text) },
  });
  // The running query rejects as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (const query of sqlQueries(args)) {
      const { text, count } = numbered(query.query);
      const asked = { text, values: Array<string>(count).fill(id), rowMode: 'array' as const };
      const { rows, fields } = await client.query<SaltValue[]>(asked);
      if (rows.length > MAX_ROWS) throw new RangeError('more than 100,000 rows');
      addRows(
        result,
        query,
        fields.map(({ name }) => name),
        rows,
      );
    }
  } catch (error) {
    log('error', `Error in ext_pillar POSTGRES: ${(error as Error).message}`);
  } finally {
    await client.end();
  }
  return result;
}

/** Salt's placeholders as PostgreSQL's: `%s` is `$1`, `%%` a percent sign. */
function numbered(query: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const text = query.replaceAll(/%[s%]/g, (found) => (found === '%%' ? '%' : `$${(count += 1)}`));
  return { text, count };
}

function wholeNumber(text: string): SaltValue {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

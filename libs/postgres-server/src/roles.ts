import pg from 'pg';

/**
 * The superuser role that initdb makes. Only this library uses it, to make other roles. A superuser
 * runs programs and reads files as the account of the server.
 */
export const SUPERUSER = 'brine';
/** The role of the services: owns their database, and has no right beyond it. */
export const SERVICES_ROLE = 'brine_services';
/** The database of the services. */
export const EMBEDDED_DATABASE = 'brine';

/** Roles that `brine postgres roles` fills: the services' role may not make any. */
const GRANTED_ROLES = ['brine_store', 'brine_returner', 'brine_reader'] as const;

/** The passwords of the two roles that can log in. */
export interface Passwords {
  readonly superuser: string;
  readonly services: string;
}

/** The address of the database for a role, with its password. */
export function urlFor(role: string, password: string, port: number): string {
  return `postgres://${role}:${password}@127.0.0.1:${port}/${EMBEDDED_DATABASE}`;
}

/**
 * Makes the role of the services and their database. Gives them the objects that services of an
 * earlier release made as the superuser. Each step is whole and finds the remaining work, so the
 * next start finishes a killed one.
 *
 * Rejects with the error of PostgreSQL.
 */
export async function ensureRoles(port: number, passwords: Passwords): Promise<void> {
  const standsBy = await asSuperuser({ port, passwords, database: 'postgres' }, async (client) => {
    // A standby gets the roles of its primary.
    const { rows } = await client.query<{ recovers: boolean }>(
      'SELECT pg_is_in_recovery() AS recovers',
    );
    if (rows[0]?.recovers === true) return true;
    await client.query(rolesText(passwords.services));
    // The default of a role that is named like the schema: queries need not name the schema.
    await client.query(`ALTER ROLE ${SERVICES_ROLE} SET search_path = brine, public`);
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [
      EMBEDDED_DATABASE,
    ]);
    const made = found.rowCount === 0 ? 'CREATE DATABASE' : 'ALTER DATABASE';
    const owner = found.rowCount === 0 ? `OWNER ${SERVICES_ROLE}` : `OWNER TO ${SERVICES_ROLE}`;
    await client.query(`${made} ${EMBEDDED_DATABASE} ${owner}`);
    return false;
  });
  if (standsBy) return;
  await asSuperuser({ port, passwords, database: EMBEDDED_DATABASE }, handOver);
}

/** One transaction: a role never has more rights than intended. */
function rolesText(password: string): string {
  const wanted = [SERVICES_ROLE, ...GRANTED_ROLES].map((role) => `'${role}'`).join();
  return `DO $$
    DECLARE missing text;
    BEGIN
      FOR missing IN
        SELECT name FROM unnest(ARRAY[${wanted}]) AS name
        WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
      LOOP
        EXECUTE format('CREATE ROLE %I NOLOGIN', missing);
      END LOOP;
    END
    $$;
    ALTER ROLE ${SERVICES_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
      NOBYPASSRLS PASSWORD '${password}';
    REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC`;
}

/**
 * Statements that give away the superuser's objects in a database. REASSIGN OWNED refuses the role
 * of initdb, which owns the system's tables too. Dependent objects are left out: sequences of
 * columns, indexes, members of extensions.
 */
const OWNED = `
SELECT format('ALTER %s %s OWNER TO ${SERVICES_ROLE}', kind, name) AS statement FROM (
  SELECT 'SCHEMA' AS kind, quote_ident(nspname) AS name, oid, tableoid AS class
  FROM pg_namespace
  WHERE nspowner = current_user::regrole AND nspname !~ '^(pg_|information_schema$)'
  UNION ALL
  SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
      WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE'
      ELSE 'TABLE' END,
    oid::regclass::text, c.oid, c.tableoid
  FROM pg_class c
  WHERE relowner = current_user::regrole AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    AND relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
    AND (relkind <> 'S' OR NOT EXISTS (
      SELECT FROM pg_depend
      WHERE classid = c.tableoid AND objid = c.oid AND deptype IN ('a', 'i')
        AND refclassid = c.tableoid))
  UNION ALL
  SELECT 'ROUTINE', oid::regprocedure::text, oid, tableoid
  FROM pg_proc
  WHERE proowner = current_user::regrole
    AND pronamespace::regnamespace::text !~ '^(pg_|information_schema$)'
  UNION ALL
  SELECT 'TYPE', oid::regtype::text, oid, tableoid
  FROM pg_type
  WHERE typowner = current_user::regrole AND typtype IN ('d', 'e', 'r')
    AND typnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
) AS mine
WHERE NOT EXISTS (
  SELECT FROM pg_depend d WHERE d.classid = class AND d.objid = mine.oid AND d.deptype = 'e')`;

/** Each statement alone: a transaction over years of days would need too many locks. */
async function handOver(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(OWNED);
  for (const { statement } of rows) await client.query(statement);
}

async function asSuperuser<T>(
  {
    port,
    passwords,
    database,
  }: { readonly port: number; readonly passwords: Passwords; readonly database: string },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: SUPERUSER,
    password: passwords.superuser,
    database,
    connectionTimeoutMillis: 5_000,
    // No function or operator of the services may replace one of the system's.
    options: '-c search_path=pg_catalog,pg_temp',
  });
  // Without a listener an error after the connection would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined); // closing a failed connection adds nothing
  }
}

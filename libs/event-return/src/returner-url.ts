import { ReturnerOptions } from './returner-options.ts';

/** Salt's two returners for PostgreSQL, and the name of the password in their options. */
const PASSWORDS = { pgjsonb: 'pass', postgres: 'passwd' } as const;

/** Options that need a connection of their own. */
const TLS = ['sslcert', 'sslkey', 'sslrootcert'] as const;

/**
 * Makes the URL of the database from the options of a returner; undefined if none of them is set.
 * @throws ReturnerError `missing` for an option of another type
 */
export function returnerUrl(
  name: keyof typeof PASSWORDS,
  from: { readonly written: Readonly<Record<string, unknown>> },
): string | undefined {
  const options = new ReturnerOptions(from, `returner.${name}`);
  const password = PASSWORDS[name];
  const given = ['host', 'user', password, 'db', 'port'].some(
    (option) => options.value(option) !== undefined,
  );
  if (!given) return undefined;
  const url = new URL('postgres://localhost');
  // The defaults of salt/returners/pgjsonb.py.
  url.hostname = options.text('host') ?? 'localhost';
  url.port = String(options.integer('port', 5432));
  url.username = encodeURIComponent(options.text('user') ?? 'salt');
  url.password = encodeURIComponent(options.text(password) ?? 'salt');
  url.pathname = `/${encodeURIComponent(options.text('db') ?? 'salt')}`;
  const mode = options.text('sslmode');
  if (mode !== undefined && mode !== 'None') {
    url.searchParams.set('uselibpqcompat', 'true');
    url.searchParams.set('sslmode', mode);
    for (const option of TLS) {
      const value = options.text(option);
      if (value !== undefined && value !== 'None') url.searchParams.set(option, value);
    }
  }
  return url.href;
}

/** What stands for a secret. */
const MASK = '********';

/** Names of options, and of keys within their values, that hold a secret. */
const SECRET_NAME =
  /(?:^|[._])(?:pass|passwd|password|passphrase|bindpw|sharedsecret|secret|token|api_?key)$|_pass$/i;

/** The part of a URL with user and password. */
const IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/@\s]+@/gi;

/** A secret within a text: a query of a URL, or a connection string of PostgreSQL. */
const IN_TEXT = /\b((?:pass|passwd|password|secret|token|api_?key)=)[^&\s'"]+/gi;

/** A value for a screen: passwords are masked, those within URLs, lists and maps too. */
export function maskSecrets(name: string, value: unknown): unknown {
  if (value === undefined || value === null || value === '') return value;
  if (SECRET_NAME.test(name)) return MASK;
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map((item: unknown) => maskSecrets(name, item));
  if (typeof value !== 'object' || value instanceof Uint8Array) return value;
  if (value instanceof Map) {
    return new Map(
      [...(value as Map<unknown, unknown>)].map(([key, item]) =>
        typeof key === 'string' ? [maskText(key), maskSecrets(key, item)] : [key, item],
      ),
    );
  }
  return Object.fromEntries(
    // A key may be a URL: that of a git remote with options.
    Object.entries(value).map(([key, item]) => [maskText(key), maskSecrets(key, item)]),
  );
}

function maskText(text: string): string {
  return text.replace(IN_URL, `$1${MASK}@`).replace(IN_TEXT, `$1${MASK}`);
}

/** Environment variables, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Lists the additional variables for children, separated by spaces: the option
 * `brine.child_environment`. Children inherit it, so that their own children get the same.
 */
export const CHILD_VARIABLE = 'BRINE_CHILD_ENVIRONMENT';

/**
 * Variables of Brine itself: addresses with passwords, certificates, headers with tokens, and
 * settings that supervisors address to one process. No program that Brine starts needs them.
 */
const OWN = /^(?:BRINE_|NATS_|OTEL_|PG[A-Z]+$|DATABASE_URL$|NOTIFY_SOCKET$|WATCHDOG_(?:USEC|PID)$)/;

/** Settings of libpq without secrets; the driver reads them at each connection. */
const READ_LATER = /^PG(?!PASSWORD$)/;

/** Variables that a program needs to run on a host, and to reach servers through proxies. */
const KEPT: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LANGUAGE'],
  ...['LD_LIBRARY_PATH', 'SSH_AUTH_SOCK', 'GNUPGHOME'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  ...['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
]);

/** True for a variable of Brine itself, which no other program may get. */
export function isOwn(name: string): boolean {
  return OWN.test(name);
}

/**
 * The environment of a program that a master or a command starts, and of templates: a fixed list of
 * names, and those that the operator added. Always use it: a program that inherits all variables
 * gets the passwords of NATS and PostgreSQL.
 * @param own that of this process
 * @param more what the program is given beside; an absent value takes a variable away
 */
export function childEnvironment(own: Environment, more: Environment = {}): Record<string, string> {
  const added = (own[CHILD_VARIABLE] ?? '').split(' ').filter((name) => name !== '');
  return chosen(own, more, (name) => {
    if (name === CHILD_VARIABLE || KEPT.has(name) || name.startsWith('LC_')) return true;
    return !isOwn(name) && added.some((one) => isMeant(name, one));
  });
}

/**
 * The environment of a program that acts for the operator: an installer, a reader of the site's
 * store, a command of a minion. Contains all variables except those of Brine.
 * @param own that of this process
 * @param more what the program is given beside; an absent value takes a variable away
 */
export function operatorEnvironment(
  own: Environment,
  more: Environment = {},
): Record<string, string> {
  return chosen(own, more, (name) => !isOwn(name));
}

/**
 * Removes Brine's own variables from an environment once everything has read them, so that no
 * program inherits them. Settings of libpq stay.
 */
export function forgetOwn(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) {
    if (isOwn(name) && name !== CHILD_VARIABLE && !READ_LATER.test(name)) delete env[name];
  }
}

/** Adds variables for the children of a process: names, or prefixes with a `*`. */
export function letChildrenHave(
  env: Record<string, string | undefined>,
  names: readonly string[],
): void {
  if (names.length > 0) env[CHILD_VARIABLE] = names.join(' ');
  else delete env[CHILD_VARIABLE];
}

function chosen(
  own: Environment,
  more: Environment,
  mayHave: (name: string) => boolean,
): Record<string, string> {
  const out: Record<string, string> = {};
  const kept = Object.entries(own).filter(([name]) => mayHave(name));
  for (const [name, value] of [...kept, ...Object.entries(more)]) {
    if (value === undefined) delete out[name];
    else out[name] = value;
  }
  return out;
}

function isMeant(name: string, one: string): boolean {
  return one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one;
}

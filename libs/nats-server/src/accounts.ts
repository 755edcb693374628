import type { ServiceName } from '@brine/bus';
import { SERVICE_NAMES } from '@brine/bus';
import { CONSUMERS_ROOT, STREAMS_API, STREAMS_API_APART } from '@brine/bus/apart';
import { PERMISSIONS } from './permissions.ts';
import { quote } from './quote.ts';

/** Passwords of the services; undefined if they have certificates. */
type Passwords = Readonly<Record<ServiceName, string>> | undefined;

/** The account of the streams, and of the services that have the master's key. */
export const INNER_ACCOUNT = 'BRINE';

/** Subjects on which the server itself answers: its interface, and what streams take in. */
const OF_STREAMS = /^(?:\$JS\.|\$KV\.|brine\.(?:bodies|kept|events|publications|reactions|due)\.)/;

/** A consumer may send to any subject that it names, so another service makes it. */
const MAKES_CONSUMER = `${STREAMS_API}CONSUMER.CREATE.`;
/** A pull has many answers. An empty one without headers would be the last. */
const PULLS = `${STREAMS_API}CONSUMER.MSG.NEXT.`;
/** The server forgets a pull this long after its last answer. Longer than a pull lives. */
const PULL_FORGOTTEN = '45s';

/** The server maps the subject of a request before it checks rights. */
const MAPPING = `    mappings: { ${quote(`${STREAMS_API}>`)}: ${quote(`${STREAMS_API_APART}>`)} }`;

function apart(subject: string): string {
  if (!subject.startsWith(STREAMS_API)) return subject;
  return `${STREAMS_API_APART}${subject.slice(STREAMS_API.length)}`;
}

/** An export of an account, and its importer. */
interface Bridge {
  readonly kind: 'service' | 'stream';
  readonly from: string;
  readonly to: string;
  /** The subject in the exporting account. */
  readonly subject: string;
  /** The subject in the importing account; default the same. */
  readonly there?: string;
}

/**
 * The accounts, and the bridges between them. The server answers a read or write of a stream on any
 * reply subject, without checking the asker's rights. For a service in an account without streams
 * that subject belongs to its own account, where no stream listens. Requests to services keep their
 * reply subject, and services check it.
 */
export function accounts(passwords: Passwords): readonly string[] {
  const bridges = SERVICE_NAMES.flatMap(bridgesOf);
  const names = [...new Set(SERVICE_NAMES.map(accountOf))].sort(innerFirst);
  return ['accounts {', ...names.flatMap((name) => account(name, bridges, passwords)), '}'];
}

/** The account of a service. */
export function accountOf(service: ServiceName): string {
  return PERMISSIONS[service].account ?? INNER_ACCOUNT;
}

function innerFirst(one: string, other: string): number {
  return Number(other === INNER_ACCOUNT) - Number(one === INNER_ACCOUNT);
}

/** The bridges out of a service's own account and into it. */
function bridgesOf(service: ServiceName): readonly Bridge[] {
  const own = accountOf(service);
  if (own === INNER_ACCOUNT) return [];
  const { publish, subscribe } = PERMISSIONS[service];
  const sent = publish.filter((subject) => !OF_STREAMS.test(subject));
  const stored = publish.filter((subject) => OF_STREAMS.test(subject));
  const stream =
    (from: string, to: string) =>
    (subject: string): Bridge => {
      return { kind: 'stream', from, to, subject };
    };
  return [
    ...stored.map((asked): Bridge => {
      const subject = asked.startsWith(MAKES_CONSUMER)
        ? `${CONSUMERS_ROOT}.${service}.${asked.slice(MAKES_CONSUMER.length)}`
        : asked;
      return { kind: 'service', from: INNER_ACCOUNT, to: own, subject, there: apart(asked) };
    }),
    ...sent.map(stream(own, INNER_ACCOUNT)),
    ...subscribe.map(stream(INNER_ACCOUNT, own)),
    // An account does not export its imports: two of these need a bridge of their own.
    ...SERVICE_NAMES.filter((other) => ![INNER_ACCOUNT, own].includes(accountOf(other))).flatMap(
      (other) => {
        const { subscribe: subscribed } = PERMISSIONS[other];
        const between = sent.filter((subject) => subscribed.some((all) => isWithin(subject, all)));
        return between.map(stream(own, accountOf(other)));
      },
    ),
  ];
}

function isWithin(subject: string, all: string): boolean {
  return subject === all || (all.endsWith('.>') && subject.startsWith(all.slice(0, -1)));
}

function account(
  name: string,
  bridges: readonly Bridge[],
  passwords: Passwords,
): readonly string[] {
  const isInner = name === INNER_ACCOUNT;
  return [
    `  ${name} {`,
    isInner ? '    jetstream: enabled' : MAPPING,
    ...part('exports', exportsOf(bridges.filter(({ from }) => from === name))),
    ...part('imports', importsOf(bridges.filter(({ to }) => to === name))),
    ...part(
      'users',
      SERVICE_NAMES.filter((service) => accountOf(service) === name).flatMap((service) =>
        userBlock(service, passwords?.[service]),
      ),
    ),
    '  }',
  ];
}

function part(name: string, lines: readonly string[]): readonly string[] {
  return [`    ${name}: [`, ...lines, '    ]'];
}

/** A subject is exported once, to all its importers. */
function exportsOf(bridges: readonly Bridge[]): readonly string[] {
  const of = new Map<string, Set<string>>();
  for (const { kind, subject, to } of bridges) {
    const key = `${kind}: ${quote(subject)}`;
    const more = subject.startsWith(PULLS)
      ? `, response_type: stream, response_threshold: ${quote(PULL_FORGOTTEN)}`
      : '';
    of.set(`${key}${more}`, (of.get(`${key}${more}`) ?? new Set()).add(to));
  }
  return [...of].map(([text, to]) => `      { ${text}, accounts: [${[...to].join(', ')}] }`);
}

function importsOf(bridges: readonly Bridge[]): readonly string[] {
  const lines = bridges.map(({ kind, from, subject, there = subject }) => {
    const to = there === subject ? '' : `, to: ${quote(there)}`;
    return `      { ${kind}: { account: ${from}, subject: ${quote(subject)} }${to} }`;
  });
  return [...new Set(lines)];
}

function userBlock(service: ServiceName, password: string | undefined): readonly string[] {
  const { publish, publishNever = [], subscribe } = PERMISSIONS[service];
  const isInner = accountOf(service) === INNER_ACCOUNT;
  const shownAs = (subjects: readonly string[]): string =>
    list(isInner ? subjects : subjects.map(apart));
  const never = publishNever.length === 0 ? '' : `, deny: [\n${shownAs(publishNever)}\n        ]`;
  const shown = password === undefined ? '' : `, password: ${quote(password)}`;
  return [
    '    {',
    `      user: ${quote(service)}${shown}`,
    '      permissions {',
    `        publish { allow: [\n${shownAs(publish)}\n        ]${never} }`,
    `        subscribe { allow: [\n${list(subscribe)}\n        ] }`,
    '      }',
    '    }',
  ];
}

function list(subjects: readonly string[]): string {
  return [...new Set(subjects)].map((subject) => `          ${quote(subject)}`).join('\n');
}

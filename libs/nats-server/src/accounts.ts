import type { ServiceName } from '@brine/bus';
import { SERVICE_NAMES } from '@brine/bus';
import { CONSUMERS_ROOT, STREAMS_API, STREAMS_API_APART } from '@brine/bus/apart';
import { PERMISSIONS } from './permissions.ts';
import { quote } from './quote.ts';

/** Passwords of the services; none where they have certificates. */
type Passwords = Readonly<Record<ServiceName, string>> | undefined;

/** The account of the streams, and of the services that hold the master's key. */
export const INNER_ACCOUNT = 'BRINE';

/** Subjects on which the server itself answers: its interface, and what streams take in. */
const OF_STREAMS = /^(?:\$JS\.|\$KV\.|brine\.(?:bodies|kept|events|publications|reactions|due)\.)/;

/** A consumer can be told to send to any subject, so another service makes it. */
const MAKES_CONSUMER = `${STREAMS_API}CONSUMER.CREATE.`;
/** These bring many answers to one request. An empty one without headers would be the last. */
const PULLS = `${STREAMS_API}CONSUMER.MSG.NEXT.`;
/** Longer than a pull lives: it is forgotten so long after its last answer. */
const PULL_FORGOTTEN = '45s';

/** Before it looks at rights the server turns the subject of a request into another one. */
const MAPPING = `    mappings: { ${quote(`${STREAMS_API}>`)}: ${quote(`${STREAMS_API_APART}>`)} }`;

function apart(subject: string): string {
  if (!subject.startsWith(STREAMS_API)) return subject;
  return `${STREAMS_API_APART}${subject.slice(STREAMS_API.length)}`;
}

/** One line of the exports of an account, and who imports it. */
interface Bridge {
  readonly kind: 'service' | 'stream';
  readonly from: string;
  readonly to: string;
  /** In the account that exports it. */
  readonly subject: string;
  /** In the account that imports it; default the same. */
  readonly there?: string;
}

/**
 * The accounts, and what goes from one to another. The server answers a read or write of a stream
 * on any reply subject, and looks at no right of the asker then. For a service in an account
 * without streams that subject belongs to its own account, where no stream listens. Requests to
 * services keep their reply subject, and services check it.
 */
export function accounts(passwords: Passwords): readonly string[] {
  const bridges = SERVICE_NAMES.flatMap(bridgesOf);
  const names = [...new Set(SERVICE_NAMES.map(accountOf))].sort(innerFirst);
  return ['accounts {', ...names.flatMap((name) => account(name, bridges, passwords)), '}'];
}

/** The account that a service lives in. */
export function accountOf(service: ServiceName): string {
  return PERMISSIONS[service].account ?? INNER_ACCOUNT;
}

function innerFirst(one: string, other: string): number {
  return Number(other === INNER_ACCOUNT) - Number(one === INNER_ACCOUNT);
}

/** What leads out of a service's own account and into it. */
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
    // No account hands on what it imports: two of these need a way of their own.
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

/** A subject is exported once, to all that import it. */
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

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import {
  Ldap,
  type LdapOptions,
  LoginLimits,
  type LoginModule,
  OidcLogin,
  RestLogin,
} from '@brine/eauth';
import { many, type WorstWork } from '../worst.ts';

/** What a directory or a service sends of this size is read on the loop of a worker. */
const SIZE = 65_536;

function ber(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const head = Buffer.from([tag, 0x84, 0, 0, 0, 0]);
  head.writeUInt32BE(content.length, 2);
  return Buffer.concat([head, content]);
}
const text = (value: string): Buffer => ber(4, Buffer.from(value));
const message = (id: number, answer: Buffer): Buffer => ber(0x30, Buffer.from([2, 1, id]), answer);
const done = (tag: number): Buffer => ber(tag, Buffer.from([10, 1, 0, 4, 0, 4, 0]));
const BOUND = message(2, done(0x61));
const FOUND = message(3, done(0x65));

/** One entry as the answer to a search. */
function entry(dn: string, attributes: Readonly<Record<string, readonly string[]>>): Buffer {
  const all = Object.entries(attributes).map(([name, values]) =>
    ber(0x30, text(name), ber(0x31, ...values.map(text))),
  );
  return message(3, ber(0x64, text(dn), ber(0x30, ...all)));
}

const DIRECTORIES: readonly (readonly [string, Buffer])[] = [
  ['nothing known', Buffer.alloc(SIZE, 0xff)],
  ['a message that is said to be huge', Buffer.concat([Buffer.from('3084ffffffff', 'hex'), BOUND])],
  ['messages in messages', Buffer.from('3080'.repeat(SIZE / 2), 'hex')],
  ['empty messages', Buffer.from('3000'.repeat(SIZE / 2), 'hex')],
  ['the shortest messages', Buffer.from('30050201037300'.repeat(SIZE / 7), 'hex')],
  ['the shortest unknown messages', Buffer.from('30050201097300'.repeat(SIZE / 7), 'hex')],
  ['a controlled message', Buffer.concat([message(2, ber(0xa0, Buffer.alloc(SIZE, 0x30)))])],
  ['a long error', message(2, ber(0x61, Buffer.from([10, 1, 49, 4, 0]), text('x'.repeat(SIZE))))],
  ['references', bytesOf(SIZE / 32, () => message(3, ber(0x73, text('ldap://x'))))],
  ['entries', bytesOf(SIZE / 64, (at) => entry(`cn=${at}`, { cn: ['x'] }))],
  ['commas', entry(','.repeat(SIZE), { memberUid: ['u'], cn: [','.repeat(SIZE)] })],
  ['equal signs', entry('='.repeat(SIZE), { memberUid: ['u'], memberOf: ['='.repeat(SIZE)] })],
  ['escapes', entry('\\,'.repeat(SIZE / 2), { memberUid: ['u'], cn: ['\\'.repeat(SIZE)] })],
  [
    'values',
    entry('cn=u', { memberUid: ['u'], memberOf: Array.from({ length: SIZE / 16 }, () => ',=') }),
  ],
  [
    'attributes',
    entry(
      'cn=u',
      Object.fromEntries(Array.from({ length: SIZE / 32 }, (_, at) => [`a${at}`, ['']])),
    ),
  ],
  ['an attribute of the prototype', entry('cn=u', { __proto__x: ['u'], constructor: ['u'] })],
];

function bytesOf(count: number, one: (at: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, at) => one(at)));
}

const SERVICES: readonly (readonly [string, string])[] = [
  ['brackets', '['.repeat(SIZE)],
  ['rights', `[${many(SIZE / 4, () => '"a"', ',')}]`],
  ['a list in lists', `${'['.repeat(SIZE / 2)}${']'.repeat(SIZE / 2)}`],
  ['a number', `[${'9'.repeat(SIZE)}]`],
  ['spaces', ' '.repeat(1_000_000)],
  ['spaces before what is none', `${' '.repeat(1_000_000)}x`],
  ['escapes', `["${'\\u0041'.repeat(SIZE / 6)}"]`],
  ['broken text', '\ufffd'.repeat(SIZE)],
];

const NAMES: readonly string[] = [
  'a',
  '*',
  '(',
  '\\',
  ' ',
  '=',
  ',',
  'é',
  '\ud800',
  '{{ username }}',
]
  .map((one) => one.repeat(256 / one.length))
  .concat('a'.repeat(1_000_000), `${' '.repeat(500_000)}a`);

/** Asks a module of a server that answers so, whatever it is asked. */
async function asked(
  module: (port: number) => LoginModule,
  answer: (socket: Socket) => void,
  username = 'u',
): Promise<void> {
  await atServer(answer, (port) =>
    module(port).check({ username, password: 'x' }, AbortSignal.timeout(300)),
  );
}

async function atServer(
  answer: (socket: Socket) => void,
  ask: (port: number) => Promise<unknown>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => answer(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await ask(port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

function directory(port: number): Ldap {
  const options: LdapOptions = {
    url: `ldap://127.0.0.1:${port}`,
    startTls: false,
    verify: true,
    baseDn: 'dc=example',
    bindDn: 'uid={{ username }},dc=example',
    bindPassword: '',
    filter: '',
    scope: 'sub',
    groupOu: '',
    accountAttribute: 'memberUid',
    groupAttribute: 'memberOf',
    personType: 'person',
    groupClass: 'posixGroup',
    activeDirectory: false,
    freeIpa: false,
    groupBaseDn: '',
    groupFilter: '',
  };
  return new Ldap(options);
}

const service = (port: number): RestLogin => new RestLogin({ '^url': `http://127.0.0.1:${port}/` });
const httpAnswer = (body: string): string =>
  ['HTTP/1.1 200 OK', `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');

/** Log-ins at a provider; the port is of one that may answer. */
function provider(port = 9): OidcLogin {
  const options = {
    issuer: `http://127.0.0.1:${port}`,
    clientId: 'brine',
    clientSecret: 'secret',
    redirectUri: 'http://127.0.0.1/login/oidc/callback',
    scopes: ['openid'],
    nameClaim: 'sub',
    groupsClaim: 'groups',
    origins: [],
  };
  return new OidcLogin(options, () => undefined);
}

const FLOWS: readonly string[] = ['.', 'A', 'e30.', '....', '%', '&state=', '\ud800'].map((one) =>
  one.repeat(1_000_000 / one.length),
);

/** Answers the bind, and whatever is asked then. */
function binding(answer: Buffer): (socket: Socket) => void {
  return (socket) => {
    socket.write(BOUND);
    socket.once('data', () => socket.write(Buffer.concat([answer, FOUND])));
  };
}

export const directories: WorstWork = {
  of: ['Ldap', 'RestLogin', 'LoginLimits', 'OidcLogin'].map((name) => `eauth.${name}`),
  inputs: () => [
    ...DIRECTORIES.flatMap(([name, bytes]) => [
      [`a bind: ${name}`, () => asked(directory, (socket) => socket.write(bytes))] as const,
      [`groups: ${name}`, () => asked(directory, binding(bytes))] as const,
    ]),
    ...SERVICES.map(
      ([name, body]) =>
        [`rights: ${name}`, () => asked(service, (to) => to.end(httpAnswer(body)))] as const,
    ),
    ...SERVICES.map(
      ([name, body]) =>
        [
          `a provider: ${name}`,
          () =>
            atServer(
              (to) => to.end(httpAnswer(body)),
              (port) => provider(port).begin(),
            ),
        ] as const,
    ),
    ...FLOWS.flatMap((text) => [
      [`flows of ${text.slice(0, 7)}`, () => provider().finish(text, 'code=a')] as const,
      [
        `a flow of ${text.slice(0, 7)}`,
        () => provider().finish(text.slice(0, 1_020), text),
      ] as const,
    ]),
    ...NAMES.flatMap((username) => {
      const name = `${username.slice(0, 4)} of ${username.length}`;
      const attempt = { module: username, username, from: username };
      return [
        [`a directory's ${name}`, () => asked(directory, binding(FOUND), username)] as const,
        [`a service's ${name}`, () => asked(service, (to) => to.end('x'), username)] as const,
        [`limits of ${name}`, () => new LoginLimits().failed(attempt)] as const,
      ];
    }),
  ],
};

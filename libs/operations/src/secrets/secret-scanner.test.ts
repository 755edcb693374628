import { cpuMs } from '@brine/testing/waits';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SecretScanner, withoutSecrets } from './secret-scanner.ts';

const SECRET = `p"a's s\\w:ört-42`;
const scanner = new SecretScanner([
  { from: 'option gitfs_password', value: SECRET },
  { from: 'option short', value: 'abc' },
  { from: 'option common', value: 'saltstack' },
  { from: 'option none', value: '' },
]);

test.each([
  ['as it is', SECRET],
  ['in a URL', encodeURIComponent(SECRET)],
  ['in JSON', JSON.stringify({ x: SECRET })],
  ['in YAML', `x: '${SECRET.replaceAll("'", "''")}'`],
  ['in base64', Buffer.from(SECRET).toString('base64')],
  ['in base64, with more behind it', Buffer.from(`${SECRET}…`).toString('base64')],
  ['in hex', Buffer.from(SECRET).toString('hex')],
])('finds a secret %s', (_how, text) => {
  expect(scanner.find(`one\ntwo ${text} three`)).toEqual([
    { from: 'option gitfs_password', line: 2 },
  ]);
});

test('a hit does not tell the secret', () => {
  expect(JSON.stringify(scanner.find(SECRET))).not.toContain('42');
});

test('values that stand in every log are named as not looked for', () => {
  expect(scanner.find('abc saltstack')).toEqual([]);
  expect(scanner.weak).toEqual(['option short', 'option common']);
});

test.each([
  ['a PEM block', '-----BEGIN RSA PRIVATE KEY-----'],
  ['a PEM block', '-----BEGIN CERTIFICATE-----'],
  ['a URL with a password', 'postgres://u:hunter2@db/x'],
  ['a named password', 'password: hunter22'],
  ['a named password', '"api_key": "0123456789"'],
  ['a named password', 'root_password: hunter22'],
  ['a named password', 'DB_PASSWORD=hunter22'],
  ['a named password', '"db_password": "hunter22"'],
  ['a named password', 'client_secret=hunter22'],
  ['a named password', 'secret_key: hunter22'],
  ['a named password', 'secret_id: hunter22'],
  ['a named password', 'aws_secret_access_key = hunter22'],
  ['a named password', 'bindpw: hunter22'],
  ['a named password', 'token: hunter22'],
  ['a named password', String.raw`a: b\ntoken: hunter22`],
  ['a named password', 'key_pass: hunter22'],
  ['a named password', "'password' => 'hunter22'"],
  ['a named password', String.raw`{\"password\":\"hunter22\"}`],
  ['a bearer token', 'Authorization: Bearer 0123456789abcdef0123'],
  ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x'],
  ['a key of AWS', 'AKIAIOSFODNN7EXAMPLE'],
  ['a token of GitHub or GitLab', `glpat-${'x'.repeat(20)}`],
  ['a token of Slack', 'xoxb-1234567890-abc'],
])('finds %s that it does not know: %s', (name, text) => {
  expect(new SecretScanner([]).find(text).map(({ from }) => from)).toContain(name);
});

test.each([
  'postgres://u:********@db/x',
  'password: ********',
  'auth.ldap.bindpw: null',
  'the password was refused',
  String.raw`{\"password\":\"\"}`,
  "db_password: ''",
  'pass_dir: /etc/pass',
  'token_expire: 43200',
  'bypass: true',
  'compass=north',
  'secret_key: ********',
  'https://git.example/a.git',
  'git@git.example:team/a.git',
  'tls://n1.example:4222,n2.example:4222',
])('what is masked, or none, is no secret: %s', (text) => {
  expect(new SecretScanner([]).find(text)).toEqual([]);
});

test('every secret is found wherever it stands', () => {
  const secret = fc.string({ minLength: 8, maxLength: 80 }).filter((one) => {
    return one.trim() === one && !/^(?:password|changeme|saltmaster)$/i.test(one);
  });
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      const one = new SecretScanner([{ from: 'x', value }]);
      const text = before + value + after;
      expect(one.find(text).some(({ from }) => from === 'x')).toBe(true);
      expect(withoutSecrets(text, one).text).not.toContain(
        value.split('\n')[0] === value ? value : '\0',
      );
    }),
  );
});

test('lines with secrets are left out and counted, of a PEM block all', () => {
  const log = [
    'before',
    `login with ${SECRET}`,
    'between',
    'key: -----BEGIN PRIVATE KEY-----',
    'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw',
    '-----END PRIVATE KEY-----',
    'after',
  ].join('\n');
  const { text, left } = withoutSecrets(log, scanner);
  expect(text).toBe('before\nbetween\nafter');
  expect([...left]).toEqual([
    ['option gitfs_password', 1],
    ['a PEM block', 3],
  ]);
});

test.each([
  [
    'around a line',
    String.raw`Jinja variable 'x' is undefined; line 2\n\n---\na: hunter22\nb: {{ x }}  <===\n---`,
    "Jinja variable 'x' is undefined; line 2",
  ],
  [
    'of an included file',
    String.raw`Jinja error: x\n/srv/pillar/a.sls(1):\nhunter22    <===`,
    'Jinja error: x',
  ],
  ['in JSON within a log', String.raw`Jinja error: x\\nhunter22"`, 'Jinja error: x\\'],
])('a render error stays, without the source %s', (_which, error, kept) => {
  const head = String.raw`10:00 [CRITICAL] Rendering SLS 'a' failed, render error:\n`;
  const { text, left } = withoutSecrets(`before\n${head}${error}\nafter`, scanner);
  expect(text).toBe(`before\n${head}${kept} …\nafter`);
  expect([...left]).toEqual([['the source that a render error shows', 1]]);
});

test('the source of a state that fails to render is left out too', () => {
  const error = String.raw`Jinja syntax error: x; line 1\n\n---\nhunter22    <===\n---`;
  const { text } = withoutSecrets(`Rendering SLS 'base:a' failed: ${error}`, scanner);
  expect(text).toBe("Rendering SLS 'base:a' failed: Jinja syntax error: x; line 1 …");
});

test('a PEM block that does not end takes no more than its lines', () => {
  const log = `-----BEGIN X-----\n${'line\n'.repeat(1_000)}end`;
  const { text } = withoutSecrets(log, scanner);
  expect(text.split('\n').length).toBeGreaterThan(500);
});

test('a key of many secrets and a log of megabytes take seconds at most', () => {
  const many = Array.from({ length: 5_000 }, (_, at) => ({
    from: `${at}`,
    value: `secret-number-${at}-of-the-host`,
  }));
  const large = new SecretScanner(many);
  const log = '2026-11-26 03:00:00,000 [INFO ] a usual line of the log\n'.repeat(40_000);
  const before = cpuMs();
  expect(large.find(`${log}secret-number-4999-of-the-host`)).toHaveLength(1);
  expect(cpuMs() - before).toBeLessThan(10_000);
});

test.each([
  ['of a name', 'password '],
  ['of spaces', ' ', 'password:'],
  ['of schemes', 'a.'],
  ['of heads of tokens', 'eyJ-'],
  ['of backslashes', '\\', 'password'],
  ['of render errors', 'render error:'],
  ['of line numbers', '; line 1'],
])('a long line %s costs no more than its length', (_of, part, before = '') => {
  const line = before + part.repeat(100_000);
  expect(withoutSecrets(line, new SecretScanner([])).text).toBe(line);
});

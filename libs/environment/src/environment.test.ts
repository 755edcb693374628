import { describe, expect, test } from 'vitest';
import {
  CHILD_VARIABLE,
  childEnvironment,
  forgetOwn,
  letChildrenHave,
  operatorEnvironment,
} from './environment.ts';

const KEPT = {
  PATH: '/usr/bin',
  HOME: '/root',
  LC_ALL: 'C.UTF-8',
  TMPDIR: '/var/tmp',
  https_proxy: 'http://proxy:3128',
  SSL_CERT_FILE: '/etc/ca.pem',
  SSH_AUTH_SOCK: '/run/agent',
  GNUPGHOME: '/etc/salt/gpgkeys',
};
const OWN = {
  NATS_URL: 'nats://user:secret@host',
  DATABASE_URL: 'postgres://brine:secret@host/brine',
  PGPASSWORD: 'secret',
  BRINE_NATS_CERTIFICATES: '/etc/salt/pki',
  BRINE_SDB: '{"sdb://vault/x":"secret"}',
  OTEL_EXPORTER_OTLP_HEADERS: 'key=secret',
  NOTIFY_SOCKET: '/run/systemd/notify',
};
const SITES = {
  AWS_PROFILE: 'salt',
  AWS_REGION: 'eu',
  VAULT_TOKEN: 't',
  VAULT_ADDR: 'https://vault',
  NODE_OPTIONS: '--require x',
  PYTHONPATH: '/tmp/other',
  PGP_HOME: '/p',
};
const ALL = { ...KEPT, ...OWN, ...SITES, TZ: undefined };

describe('a child', () => {
  test('gets a list of variables, and none that could hold a password of the services', () => {
    expect(childEnvironment(ALL)).toEqual(KEPT);
  });

  test('gets what the operator adds, by name or by its beginning, and so do its children', () => {
    const own: Record<string, string | undefined> = { ...ALL };
    letChildrenHave(own, ['AWS_*', 'VAULT_TOKEN']);
    const names = { [CHILD_VARIABLE]: 'AWS_* VAULT_TOKEN' };
    const wanted = { ...KEPT, ...names, AWS_PROFILE: 'salt', AWS_REGION: 'eu', VAULT_TOKEN: 't' };
    const child = childEnvironment(own);
    expect(child).toEqual(wanted);
    expect(childEnvironment(child)).toEqual(wanted);
  });

  test('gets nothing of Brine, whatever is added', () => {
    const own: Record<string, string | undefined> = { ...ALL };
    letChildrenHave(own, ['*', 'NATS_*', 'DATABASE_URL', 'PGPASSWORD']);
    const child = childEnvironment(own);
    expect(child).toMatchObject({ ...KEPT, ...SITES });
    expect(Object.keys(OWN).filter((name) => Object.hasOwn(child, name))).toEqual([]);
  });

  test('gets what it is given beside, and loses what is taken from it', () => {
    const more = { LC_ALL: 'C', GIT_DIR: '/x', https_proxy: undefined, ABSENT: undefined };
    const { https_proxy: _, ...rest } = KEPT;
    expect(childEnvironment(ALL, more)).toEqual({ ...rest, LC_ALL: 'C', GIT_DIR: '/x' });
  });
});

test('a program in the place of the operator gets all but what is Brine’s', () => {
  expect(operatorEnvironment(ALL, { GOBIN: '/b' })).toEqual({ ...KEPT, ...SITES, GOBIN: '/b' });
});

test('a process forgets what is Brine’s, and keeps what its driver of PostgreSQL reads', () => {
  const own: Record<string, string | undefined> = { ...ALL, PGSSLMODE: 'require' };
  letChildrenHave(own, ['AWS_*']);
  forgetOwn(own);
  const left = { ...KEPT, ...SITES, PGSSLMODE: 'require', [CHILD_VARIABLE]: 'AWS_*' };
  expect(own).toEqual({ ...left, TZ: undefined });
  letChildrenHave(own, []);
  expect(own).not.toHaveProperty(CHILD_VARIABLE);
});

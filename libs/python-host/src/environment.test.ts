import { expect, test } from 'vitest';
import { pythonEnvironment } from './environment.ts';

test('modules in Python get no variable that could hold a password of the services', () => {
  const own = {
    PATH: '/usr/bin',
    HOME: '/root',
    LC_ALL: 'C.UTF-8',
    NATS_URL: 'nats://user:secret@host',
    DATABASE_URL: 'postgres://brine:secret@host/brine',
    PGPASSWORD: 'secret',
    BRINE_NATS_CERTIFICATES: '/etc/salt/pki',
    NODE_OPTIONS: '--require x',
    OTEL_EXPORTER_OTLP_HEADERS: 'key=secret',
    PYTHONPATH: '/tmp/other',
    TZ: undefined,
  };
  expect(pythonEnvironment(own)).toEqual({
    PATH: '/usr/bin',
    HOME: '/root',
    LC_ALL: 'C.UTF-8',
    PYTHONIOENCODING: 'utf-8:replace',
  });
});

import { expect, test } from 'vitest';
import { isSyslog, syslogPlace } from './syslog.ts';

const COMMON = ['--tag', 'salt-master', '--size', '65536', '--prio-prefix'];
const place = (address: string) => syslogPlace(address, 'salt-master');

test.each([
  ['file:///dev/log', 1, ['--socket', '/dev/log', '--socket-errors=on']],
  ['file:///dev/log/LOG_DAEMON', 3, ['--socket', '/dev/log', '--socket-errors=on']],
  ['file:///run/a%20b/log_local7', 23, ['--socket', '/run/a b', '--socket-errors=on']],
  ['udp://localhost', 1, ['--server', 'localhost', '--port', '514', '--udp', '--rfc3164']],
  ['udp://h:5145/LOG_KERN', 0, ['--server', 'h', '--port', '5145', '--udp', '--rfc3164']],
  ['tcp://[::1]:514/LOG_USER', 1, ['--server', '::1', '--port', '514', '--tcp', '--rfc3164']],
])('%s is facility %d', (address, facility, args) => {
  expect(isSyslog(address)).toBe(true);
  expect(place(address)).toEqual({ facility, args: [...COMMON, ...args] });
});

test.each([
  ['udp://host/DAEMON', 'has no facility DAEMON'],
  ['udp://host/LOG_NOBODY', 'has no facility LOG_NOBODY'],
  ['tcp://host/constructor', 'has no facility CONSTRUCTOR'],
  ['file:///dev/log/LOG_NOBODY', 'has no facility LOG_NOBODY'],
  ['udp://', 'names no host'],
  ['udp://[', 'is no address of a syslog'],
])('%s is refused', (address, text) => {
  expect(() => place(address)).toThrow(text);
});

test.each(['/var/log/salt/master', 'log', ''])('%j is a file', (logFile) => {
  expect(isSyslog(logFile)).toBe(false);
});

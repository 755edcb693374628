import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@brine/testing/waits';
import { expect, onTestFinished, test } from 'vitest';
import { SyslogLines, syslogPlace } from './syslog.ts';

/** Lines to an address, and what was told of trouble. */
function open(address: string) {
  const told: string[] = [];
  const lines = new SyslogLines(syslogPlace(address, 'salt-master'), (text) => told.push(text));
  onTestFinished(() => lines.close());
  return { lines, told };
}

test('lines come to a syslog by UDP, each with facility and severity', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const heard: string[] = [];
  socket.on('message', (message) => heard.push(message.toString()));
  const { lines, told } = open(`udp://127.0.0.1:${socket.address().port}/LOG_DAEMON`);
  lines.write('one ä\n', 'ERROR');
  lines.write('two\n', 'INFO');
  await until('two messages', () => heard.length === 2);
  expect(heard[0]).toMatch(/^<27>.* salt-master: one ä$/);
  expect(heard[1]).toMatch(/^<30>.* salt-master: two$/);
  expect(told).toEqual([]);
});

test('and to the socket of this host', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-syslog-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  let heard = '';
  const server = createServer(
    (socket) => void socket.on('data', (data) => (heard += data.toString())),
  );
  await once(server.listen(join(dir, 'log')), 'listening');
  onTestFinished(() => void server.close());
  const { lines } = open(`file://${join(dir, 'log')}/LOG_LOCAL0`);
  lines.write('here\n', 'WARNING');
  await until('the line', () => heard.includes('here'));
  expect(heard).toMatch(/^<132>/);
});

test('a syslog that is away is told once, and stops nothing', async () => {
  const { lines, told } = open('file:///nonexistent/log');
  lines.write('lost\n', 'ERROR');
  await until('trouble is told', () => told.length > 0);
  lines.write('lost too\n', 'ERROR');
  expect(told).toHaveLength(1);
  expect(told[0]).toMatch(/^log_file, by logger: .*\/nonexistent\/log/);
});

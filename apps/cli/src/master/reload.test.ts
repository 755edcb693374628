import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changedOptions } from './reload.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-reload-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function optionsOf(lines: string) {
  writeFileSync(join(dir, 'master'), lines);
  return loadMasterConfig({ configDir: dir, env: {} }).options;
}

const NONE = { now: [], restart: [], stop: [] };

test.each([
  ['log_fmt_console: "%(message)s"\n', { now: ['log_fmt_console'] }],
  ['log_file: /tmp/other\nbrine: {log_format: json}\n', { now: ['brine.log_format', 'log_file'] }],
  ['timeout: 9\nauto_accept: true\n', { restart: ['auto_accept', 'timeout'] }],
  ['log_level: debug\n', { restart: ['log_level'] }],
  ['brine: {job_deadline: 60}\n', { restart: ['brine.job_deadline'] }],
  ['id: other\n', { restart: ['id'] }],
  ['own_store: {driver: yaml}\n', { restart: ['own_store'] }],
  ['ret_port: 5506\nuser: daemon\n', { stop: ['ret_port', 'user'] }],
  ['brine: {workers: 3, ack: store}\n', { restart: ['brine.ack'], stop: ['brine.workers'] }],
  ['', {}],
])('%j is in force at its time', (lines, changed) => {
  expect(changedOptions(optionsOf(''), optionsOf(lines))).toEqual({ ...NONE, ...changed });
});

test('what follows from an option is not named beside it', () => {
  const changed = changedOptions(optionsOf(''), optionsOf('cachedir: /srv/cache\n'));
  expect(changed.stop).toEqual(['brine.state_dir', 'cachedir']);
  expect(changed.restart.filter((name) => name !== 'extension_modules')).toEqual([]);
});

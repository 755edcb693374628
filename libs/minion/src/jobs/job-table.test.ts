import { expect, test } from 'vitest';
import type { RunningJob } from '../functions/own-state.ts';
import { JobTable } from './job-table.ts';

const job = (jid: string): RunningJob => ({
  jid,
  pid: 7,
  fun: 'test.ping',
  arg: [],
  tgt: '*',
  tgtType: 'glob',
  ret: '',
  user: 'root',
});

test('a job id is accepted once', () => {
  const table = new JobTable(10);
  expect([table.accept('1'), table.accept('1'), table.accept('2')]).toEqual([true, false, true]);
});

test('of more ids than are remembered the oldest is forgotten', () => {
  const table = new JobTable(2);
  for (const jid of ['1', '2', '3']) table.accept(jid);
  expect(['3', '2'].map((jid) => table.accept(jid))).toEqual([false, false]);
  expect(table.accept('1')).toBe(true);
});

test('a job is listed from its begin to its end', () => {
  const table = new JobTable(10);
  table.begin(job('1'));
  table.begin(job('2'));
  expect(table.list().map(({ jid }) => jid)).toEqual(['1', '2']);
  table.end('1');
  expect(table.list().map(({ jid }) => jid)).toEqual(['2']);
});

test('a signal goes to the process of its job, and to no other', () => {
  const table = new JobTable(10);
  const sent: string[] = [];
  table.begin(job('1'), (name) => sent.push(name) > 0);
  table.begin(job('2'));
  expect(['1', '2', '3'].map((jid) => table.signal(jid, 'SIGTERM'))).toEqual([true, false, false]);
  expect(sent).toEqual(['SIGTERM']);
});

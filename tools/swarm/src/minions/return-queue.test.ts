import { expect, it } from 'vitest';
import { JobRun } from '../load/job-run.ts';
import { ReturnQueue } from './return-queue.ts';
import { SealedRequests } from './sealed-request.ts';
import { noCounts, type Surroundings } from './surroundings.ts';

it('a minion that is not logged in sends no return, and is not counted as if it had', () => {
  const requests = new SealedRequests(3);
  const around = { requests, counts: noCounts(), ledger: undefined } as Surroundings;
  const line = { whenFree: (call: () => void): void => call() };
  const minion = {
    index: 0,
    id: 'm-0',
    behaviour: {},
    key: undefined,
    fields: requests.fields('m-0', Buffer.alloc(0)),
    logIn: () => Promise.resolve(),
  };
  const job = { fun: 'test.ping', arg: [], tgt: '*', tgtType: 'glob', jid: '20261127171037123456' };
  const run = new JobRun({ ...job, ret: '', rest: new Map() }, 1);
  run.open = 1;
  new ReturnQueue({ ...minion, line: line as never }, around).push(run, 1);
  expect(run.report(0)).toMatchObject({ returned: 0, acknowledged: 0, lost: 1 });
  expect(around.counts).toMatchObject({ returnsSent: 0, returnsLost: 1 });
});

import { workerData } from 'node:worker_threads';
import { answerAt, type BlockingEnd } from '@brine/python-host';
import { answerNetwork } from './network-answers.ts';

answerAt(workerData as BlockingEnd, { call: (_use, op, given) => answerNetwork(op, given) });

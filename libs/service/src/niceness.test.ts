import { expect, test } from 'vitest';
import { nicenessOf, type NicenessOptions } from './niceness.ts';

const NONE: NicenessOptions = {
  mworkerNiceness: undefined,
  maintenanceNiceness: undefined,
  reqServerNiceness: undefined,
  mworkerQueueNiceness: undefined,
  pubServerNiceness: undefined,
  eventPublisherNiceness: undefined,
};

test.each([
  ['worker-pool', { mworkerNiceness: 5 }, 5],
  ['publisher', { pubServerNiceness: -3 }, -3],
  ['event-bus', { eventPublisherNiceness: 19 }, 19],
  ['req-gateway', { reqServerNiceness: 2 }, 2],
  ['req-gateway', { reqServerNiceness: 2, mworkerQueueNiceness: 3 }, 5],
  ['req-gateway', { mworkerNiceness: 5 }, 0],
  ['syndic-relay', { mworkerNiceness: 5 }, 0],
  ['worker-pool', {}, 0],
  ['http-api', { mworkerNiceness: 5, maintenanceNiceness: 5 }, 0],
  ['runner-pool', {}, 10],
  ['runner-pool', { maintenanceNiceness: 0 }, 0],
])('%s with %j is %d nicer', (service, given, more) => {
  expect(nicenessOf(service, { ...NONE, ...given })).toBe(more);
});

import { expect, test } from 'vitest';
import { packReport, REPORT_MAX_BYTES } from './roll-answer.ts';

test('an answer that would be too long goes without its status', () => {
  const facts = { name: 'worker-pool', status: { text: 'ö'.repeat(REPORT_MAX_BYTES) } };
  const packed = packReport('c', facts);
  expect(Buffer.byteLength(packed)).toBeLessThan(REPORT_MAX_BYTES);
  expect(JSON.parse(packed)).toMatchObject({
    call: 'c',
    facts: { name: 'worker-pool', status: { leftOut: `more than ${REPORT_MAX_BYTES} bytes` } },
  });
  expect(JSON.parse(packReport('c', { status: { a: 1 } }))).toMatchObject({
    facts: { status: { a: 1 } },
  });
});

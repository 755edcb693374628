import { BrineMaster, SaltSandbox } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let master: BrineMaster;

beforeAll(async () => {
  master = await BrineMaster.start({ brine: { workers: 1 }, my_password: 'hunter2-a' });
  await master.startMinion('witness');
  await master.acceptKeys(['witness']);
  await master.waitForMinions(['witness']);
});
afterAll(() => master.close());

test('passes', async () => {
  await using sandbox = await SaltSandbox.create();
  process.stdout.write(`unharmed: ${sandbox.dir}\n`);
});

test('fails beside a master', async () => {
  await master.brine('salt', ['-L', 'witness,nobody', 'test.echo', 'seen', '-t', '1']);
  expect(1).toBe(2);
});

test('fails again', () => {
  expect(3).toBe(4);
});

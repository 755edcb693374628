import { afterAll, beforeAll, it } from 'vitest';
import { RELEASES, StockCli } from './stock-cli.ts';

const RUNS = 50;
let cli: StockCli;

beforeAll(async () => {
  cli = await StockCli.start();
});
afterAll(async () => {
  await cli?.master.close();
});

it.each(RELEASES)(
  'salt %s gets every answer of many, and never has to ask whether a job still runs',
  async (version) => {
    await cli.expectAnswers(version, RUNS);
  },
  600_000,
);

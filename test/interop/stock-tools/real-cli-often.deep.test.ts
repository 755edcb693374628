import { OLDEST_SALT, SALT_VERSIONS } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { afterAll, beforeAll, it } from 'vitest';
import { StockCli } from './stock-cli.ts';

// The command line of the oldest was never tried on the host of a Brine master.
const VERSIONS = SALT_VERSIONS.filter((version) => version !== OLDEST_SALT);
const RUNS = sized({ change: 5, release: 20, nightly: 100 });
let cli: StockCli;

beforeAll(async () => {
  cli = await StockCli.start(VERSIONS);
});
afterAll(async () => {
  await cli?.master.close();
});

it.each(VERSIONS)(
  'salt %s gets every answer of many, and never has to ask whether a job still runs',
  async (version) => {
    await cli.expectAnswers(version, RUNS);
  },
  600_000,
);

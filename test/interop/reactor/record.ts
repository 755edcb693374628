// Fires the events of test/fixtures/reactor at a stock master and writes down what came of each:
// `npx tsx --conditions=source test/interop/reactor/record.ts [name …]`.
import { recordCases } from '../record-cases.ts';
import { reactorCases, RESULTS_FILE } from './reactor-cases.ts';
import { reactAtStock } from './run-stock.ts';

await recordCases({ file: RESULTS_FILE, cases: reactorCases(), ask: reactAtStock });

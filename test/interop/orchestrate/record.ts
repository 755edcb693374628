// Runs the orchestrations of test/fixtures/orchestrate at a stock master and writes down what came
// of each: `npx tsx --conditions=source test/interop/orchestrate/record.ts [name …]`.
import { recordCases } from '../record-cases.ts';
import { orchestrations, RESULTS_FILE } from './orchestrations.ts';
import { runAtStock } from './run-stock.ts';

await recordCases({ file: RESULTS_FILE, cases: orchestrations(), ask: runAtStock });

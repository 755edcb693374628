import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Benchmarks of single parts, each beside the library that it measures. */
const BENCHES = [
  { title: 'sealing', file: 'libs/crypt/bench/sealing.ts' },
  { title: 'decoding', file: 'libs/wire/bench/codec.ts' },
  { title: 'target matching', file: 'libs/target/bench/matching.ts' },
  { title: 'targets of a large fleet', file: 'libs/target/bench/fleet.ts' },
  { title: 'batching', file: 'libs/job-cache/bench/save-returns.ts' },
  { title: 'gateway', file: 'libs/gateway/bench/sealed-returns.ts' },
  { title: 'bus', file: 'libs/bus/bench/throughput.ts' },
  { title: 'a return in a worker', file: 'apps/worker-pool/bench/returns.ts' },
] as const;

/** Runs them one after the other; resolves with 1 where one fails. */
export async function runMicro(root: string): Promise<number> {
  let failed = 0;
  for (const { title, file } of BENCHES) {
    process.stdout.write(`\n${title} (${file})\n`);
    const args = ['--conditions=source', '--import', 'tsx', file];
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

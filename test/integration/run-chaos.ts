import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOOL = ['--conditions=source', '--import', 'tsx', 'tools/chaos/src/main.ts'];
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** How a run of the chaos tool ended. */
export interface ChaosRun<Report> {
  readonly code: number;
  /** What it printed. */
  readonly said: string;
  /** As its `--json` wrote it. @throws Error where it wrote none */
  readonly report: () => Report;
}

/** Runs `npm run chaos` as somebody would type it. @throws Error where it was ended by a signal */
export async function runChaos<Report>(args: readonly string[]): Promise<ChaosRun<Report>> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-chaos-test-'));
  try {
    const json = join(dir, 'report.json');
    const { code, said } = await run([...TOOL, ...args, '--json', json]);
    const text = await readFile(json, 'utf8').catch((error: unknown) => error as Error);
    const report = (): Report => {
      if (text instanceof Error) throw text;
      return JSON.parse(text) as Report;
    };
    return { code, said, report };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function run(args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(process.execPath, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, said: stdout + stderr });
      else reject(new Error(stdout + stderr, { cause: error }));
    });
  });
}

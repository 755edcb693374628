import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../run-tool.ts';

/** How a run of the chaos tool ended. */
export interface ChaosRun<Report> {
  readonly code: number;
  /** What it printed. */
  readonly said: string;
  /** As its `--json` wrote it. @throws Error where it wrote none */
  readonly report: () => Report;
}

/** Runs `npm run chaos` as typed at a terminal. @throws Error where it was ended by a signal */
export async function runChaos<Report>(args: readonly string[]): Promise<ChaosRun<Report>> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-chaos-test-'));
  try {
    const json = join(dir, 'report.json');
    const { code, stdout, stderr } = await runTool('chaos', [...args, '--json', json]);
    const said = stdout + stderr;
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

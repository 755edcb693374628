import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** How a tool ended. */
export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `npm run <tool>` as typed at a terminal. @throws Error where it was ended by a signal */
export function runTool(tool: 'chaos' | 'swarm', args: readonly string[]): Promise<ToolRun> {
  const main = ['--conditions=source', '--import', 'tsx', `tools/${tool}/src/main.ts`];
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(process.execPath, [...main, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(new Error(stdout + stderr, { cause: error }));
    });
  });
}

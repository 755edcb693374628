// `npm run record-demo`: runs `npm run demo` and draws docs/first-minute.svg from its output.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Chunk, drawRecording } from './recording.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PICTURE = fileURLToPath(new URL('../docs/first-minute.svg', import.meta.url));

const chunks = await record('npm', ['run', '--silent', 'demo']);
writeFileSync(PICTURE, drawRecording('npm run demo', chunks));

/** @throws Error if the program fails */
async function record(program: string, args: readonly string[]): Promise<Chunk[]> {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const startedMs = performance.now();
  const found: Chunk[] = [];
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    process.stdout.write(text);
    found.push({ ms: performance.now() - startedMs, text });
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code ?? 'a signal'}`);
  return found;
}

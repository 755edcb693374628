import type { TopParts } from './run-top.ts';

/** As `runTop`. Loads the code for terminals only when needed. */
export async function showLive(parts: TopParts): Promise<void> {
  const { runTop } = await import('./run-top.ts');
  await runTop(parts);
}

import type { TopParts } from './run-top.ts';

/** As `runTop`. What draws on a terminal is loaded only for that. */
export async function showLive(parts: TopParts): Promise<void> {
  const { runTop } = await import('./run-top.ts');
  await runTop(parts);
}

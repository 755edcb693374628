const FILES = import.meta.glob<string>(
  '../../../../../docs/{outages,night,certificates,secure}.md',
  { query: '?raw', import: 'default' },
);

/** Reads a page of the documentation that is a runbook; undefined for another one. */
export async function readPage(name: string): Promise<string | undefined> {
  const path = Object.keys(FILES).find((one) => one.endsWith(`/docs/${name}.md`));
  return path === undefined ? undefined : FILES[path]?.();
}

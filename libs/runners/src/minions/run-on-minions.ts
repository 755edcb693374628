import type { Command, JobReturn, LocalClient } from '@brine/client';

/** Publishes a command and gathers its returns; undefined if no minion matched. */
export async function runOnMinions(
  client: LocalClient,
  command: Command,
  timeoutMs?: number,
): Promise<readonly JobReturn[] | undefined> {
  const job = await client.publish(command, { listen: true });
  if (job === undefined) return undefined;
  const found: JobReturn[] = [];
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  for await (const item of client.returns(job, options)) found.push(item);
  return found;
}

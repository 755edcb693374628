import { Bucket, type Bus } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { sweepTokens } from '@brine/master-state';
import type { ServiceContext } from '@brine/service';
import { ClusterUpkeep } from './cluster-upkeep.ts';

/** Tokens live for half a day by default (Salt: token_expire). */
const TOKENS_EVERY_MS = 3_600_000;

/**
 * The periodic tasks of the cluster.
 * @param pem the master's private key, which seals tokens
 */
export function openUpkeep(
  { log }: Pick<ServiceContext, 'log'>,
  bus: Bus,
  pem: string,
): ClusterUpkeep {
  const bucket = new Bucket(bus, 'brine_tokens');
  const box = SecretBox.fromMasterKey(pem, 'token');
  const tokens = async (released: AbortSignal): Promise<void> => {
    const swept = await sweepTokens(bucket, box, Date.now() / 1_000, released);
    if (swept > 0) log.debug({ swept }, 'forgot tokens that had expired');
  };
  return new ClusterUpkeep({
    tasks: [{ name: 'tokens', everyMs: TOKENS_EVERY_MS, work: tokens }],
    onTrouble: (text, err) => log.warn({ err }, text),
    now: () => Date.now(),
  });
}

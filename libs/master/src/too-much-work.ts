import { WorkError } from '@brine/target';
import type { SaltValue } from '@brine/wire';
import { YamlWorkError } from '@brine/yaml';
import type { MasterPorts, Request } from './ports/ports.ts';

/** The answer to a target, expression or YAML that would delay all other requests. */
export const TOO_MUCH_WORK = 'The target, an expression or an argument takes too much work';

/** True for a request that was stopped because of what it asked to be parsed or matched. */
export function isTooMuchWork(fault: unknown): boolean {
  return fault instanceof WorkError || fault instanceof YamlWorkError;
}

/** Counts a request that was refused for its work, and tells whose it was. */
export function refuseWork(
  ports: Pick<MasterPorts, 'count' | 'refusedWork'>,
  { peer }: Pick<Request, 'peer'>,
  { cmd, who }: { readonly cmd: SaltValue | undefined; readonly who: string | undefined },
): void {
  ports.count('refused_work');
  ports.refusedWork?.({
    cmd: typeof cmd === 'string' ? cmd : '',
    ...(who !== undefined && { who }),
    ...(peer !== undefined && { peer }),
  });
}

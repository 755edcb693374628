import { WorkError } from '@brine/target';
import type { SaltValue } from '@brine/wire';
import { YamlWorkError } from '@brine/yaml';
import type { MasterPorts, Request } from './ports/ports.ts';

/** The answer to a target, expression or YAML that would delay all other requests. */
export const TOO_MUCH_WORK = 'The target, an expression or an argument takes too much work';

/** True if a request was stopped because parsing or matching it took too much work. */
export function isTooMuchWork(fault: unknown): boolean {
  return fault instanceof WorkError || fault instanceof YamlWorkError;
}

/** Counts a request that was refused for its work, and reports its sender. */
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

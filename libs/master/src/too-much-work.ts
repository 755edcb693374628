import { WorkError } from '@brine/target';
import { YamlWorkError } from '@brine/yaml';

/** What a caller is told whose target, expression or YAML would hold up everybody else. */
export const TOO_MUCH_WORK = 'The target, an expression or an argument takes too much work';

/** True for a request that was stopped because of what it asked to be parsed or matched. */
export function isTooMuchWork(fault: unknown): boolean {
  return fault instanceof WorkError || fault instanceof YamlWorkError;
}

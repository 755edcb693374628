import {
  BatchSizeError,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from '@brine/client';

const SALT_ERRORS = [
  MasterUnreachableError,
  RequestTimeoutError,
  RefusedError,
  NodegroupError,
  BatchSizeError,
] as const;

/** Errors of publishing that Salt shows instead of a stack. */
export type SaltError = InstanceType<(typeof SALT_ERRORS)[number]>;

/** The error if it is one of these; otherwise undefined. */
export function asSaltError(error: unknown): SaltError | undefined {
  return SALT_ERRORS.some((kind) => error instanceof kind) ? (error as SaltError) : undefined;
}

/** The class of Salt's own error. */
export function pythonName(error: SaltError): string {
  if (error instanceof BatchSizeError || error instanceof NodegroupError) {
    return 'SaltInvocationError';
  }
  if (!(error instanceof RefusedError)) return 'SaltClientError';
  // Behind an API the node groups are expanded there.
  return isNodegroup(error) ? 'SaltInvocationError' : error.name;
}

/** True for a node group that an API does not know; on the master's host the command finds out. */
export function isNodegroup({ name }: RefusedError): boolean {
  return name === 'NodegroupError';
}

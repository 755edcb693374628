import type { SaltMap, SaltValue } from '@brine/wire';

/** A call of a runner or wheel function. */
export interface FunctionCall {
  readonly kind: 'runner' | 'wheel';
  readonly fun: string;
  readonly jid: string;
  /** As events name him. */
  readonly user: string;
  /** Who was proven to have called. */
  readonly principal: string;
  /** He is not the master's own user: what the function publishes for him is judged as his. */
  readonly limited?: true;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** What a function returned, or the text of its failure. */
export interface FunctionOutcome {
  readonly value: SaltValue;
  readonly success: boolean;
}

/** What functions of the master need beside the other ports. */
export interface MasterFunctions {
  /** Whether there is a runner function of this name. */
  knows(fun: string): boolean;
  /** Runs a runner function. Never rejects: a failure is an outcome. */
  run(call: FunctionCall): Promise<FunctionOutcome>;
  /** Does something beside the request that asked for it; its errors go to the log. */
  inBackground(work: () => Promise<void>): void;
  /** How many such works are not done yet. */
  running(): number;
}

import { EXIT } from '../exit-codes.ts';

/** The signals that end a master. */
export interface StopSignals {
  /** Resolves at the first one. */
  readonly first: Promise<void>;
  /** Aborted at the first one. */
  readonly signal: AbortSignal;
  /** Sets the function that the second signal calls to end everything at once. */
  onForce(kill: () => void): void;
}

/** The first signal asks for an ordered stop; the second ends everything at once. */
export function stopSignals(): StopSignals {
  const controller = new AbortController();
  let force = (): void => undefined;
  let resolveFirst = (): void => undefined;
  const first = new Promise<void>((resolve) => (resolveFirst = resolve));
  const onSignal = (): void => {
    if (controller.signal.aborted) {
      force();
      process.exit(EXIT.forced);
    }
    controller.abort();
    resolveFirst();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  return { first, signal: controller.signal, onForce: (kill) => void (force = kill) };
}

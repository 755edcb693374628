/** The actions of a service when it is replaced, or replaces another process. */
export interface OrderTakers {
  readonly yield: () => Promise<void>;
  readonly leave: () => Promise<void>;
  readonly alone: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** True if this process is to replace a serving one. */
export function isSuccessor(env: Readonly<Record<string, string | undefined>>): boolean {
  return env['BRINE_SUCCESSOR'] === '1' && process.send !== undefined;
}

/**
 * Reports to the supervisor that all is loaded, and waits for its order. If the supervisor is gone,
 * `onStopSignal` ends the process.
 */
export function onLeaveOrder(): Promise<void> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      if (message !== 'go') return;
      process.off('message', take);
      resolve();
    };
    process.on('message', take);
    process.send?.({ type: 'loaded' });
  });
}

/** Answers each question of the supervisor for the facts of this process. */
export function answerDumps(facts: () => object): void {
  process.on('message', (message) => {
    if (message === 'dump') process.send?.({ type: 'dump', facts: facts() });
  });
}

/** Takes the supervisor's orders, each once, and reports when the resources are released. */
export function onOrders(takers: OrderTakers): void {
  const received = new Set<string>();
  process.on('message', (message) => {
    if (message !== 'yield' && message !== 'leave' && message !== 'alone') return;
    if (received.has(message)) return;
    received.add(message);
    takers[message]()
      .then(() => {
        if (message === 'yield') process.send?.({ type: 'yielded' });
      })
      .catch(takers.onFailure);
  });
}

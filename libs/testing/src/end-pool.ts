/** The part of a `pg.Pool` that {@link endPool} needs. */
export interface EndingPool {
  readonly totalCount: number;
  on(event: 'remove' | 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

/**
 * Ends a pool of connected clients and waits until their connections are closed. The pool's own
 * end() only asks them to close. If the server stops meanwhile, they fail with errors that no code
 * awaits.
 */
export async function endPool(pool: EndingPool): Promise<void> {
  // The pool no longer counts a client whose query failed, though its connection still closes.
  pool.on('error', () => undefined);
  let open = pool.totalCount;
  const closed = new Promise<void>((resolve) => {
    if (open === 0) resolve();
    pool.on('remove', () => {
      open -= 1;
      if (open === 0) resolve();
    });
  });
  await pool.end();
  await closed;
}

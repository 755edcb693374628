/** Where a command prints. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /**
   * Shows one line that any other output replaces; an empty text takes it away. Only where stdout
   * and stderr are a terminal that can do it.
   */
  readonly status?: ((text: string) => void) | undefined;
}

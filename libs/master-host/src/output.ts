/** Where a command prints. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /**
   * Shows one line that any other output replaces; an empty text removes it. Present only if stdout
   * and stderr are a capable terminal.
   */
  readonly status?: ((text: string) => void) | undefined;
}

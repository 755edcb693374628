/**
 * Blocks work until the test opens it. Before that the test can check at leisure that something has
 * not happened yet.
 */
export class Gate {
  /** Resolves when the gate is opened; the work awaits it. */
  readonly opened: Promise<void>;
  readonly #open: () => void;

  constructor() {
    let open: () => void = () => undefined;
    this.opened = new Promise((resolve) => (open = resolve));
    this.#open = open;
  }

  /** Releases all that wait, and all that come later. */
  open(): void {
    this.#open();
  }
}

/**
 * Holds work back until the test opens it. Before that the test may look at what has not happened
 * yet, as long as it likes.
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

  /** Lets all go on that wait, and all that come later. */
  open(): void {
    this.#open();
  }
}

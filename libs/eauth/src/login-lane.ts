/** Passwords that are checked at a time: some modules start a program for each. */
const CHECKED_MAX = 16;
/** Of these, of one address, so that the rest is there for others. */
const CHECKED_OF_ONE_MAX = 8;

interface Waiting {
  readonly from: string;
  readonly begin: () => void;
}

/** Lets a few logins be checked at a time, of one address half of these at most. */
export class LoginLane {
  readonly #checked = new Map<string, number>();
  #running = 0;
  #waiting: Waiting[] = [];

  /** Does the work when it is its turn. */
  async run<T>(from: string, work: () => Promise<T>): Promise<T> {
    if (this.#mayBegin(from)) this.#begin(from);
    else await new Promise<void>((begin) => this.#waiting.push({ from, begin }));
    try {
      return await work();
    } finally {
      this.#end(from);
    }
  }

  #mayBegin(from: string): boolean {
    return this.#running < CHECKED_MAX && (this.#checked.get(from) ?? 0) < CHECKED_OF_ONE_MAX;
  }

  #begin(from: string): void {
    this.#running += 1;
    this.#checked.set(from, (this.#checked.get(from) ?? 0) + 1);
  }

  #end(from: string): void {
    this.#running -= 1;
    const left = (this.#checked.get(from) ?? 1) - 1;
    if (left === 0) this.#checked.delete(from);
    else this.#checked.set(from, left);
    const at = this.#waiting.findIndex((one) => this.#mayBegin(one.from));
    const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.#begin(next.from);
    next.begin();
  }
}

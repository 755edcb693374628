import { YamlLoadError } from './errors.ts';

/** Thrown if a text takes more work than its sender may cause. */
export class YamlWorkError extends YamlLoadError {
  readonly code = 'SALT_YAML_WORK';

  constructor() {
    super('too large, or aliases of aliases');
    this.name = 'YamlWorkError';
  }
}

/** About 2 µs each at worst: the texts of one peer request take a quarter of 50 ms. */
const PEER_STEPS = 8_192;

/** The body of a request by HTTP: a list of some 10,000 minions. */
const BODY_STEPS = 262_144;

/** Limit for the master's files and their results; real files have a few kilobytes. */
const FILE_STEPS = 16 * 1_048_576;

/** Cost of each node that an alias repeats. */
const STEPS_PER_ALIAS_NODE = 16;

/** A limit on the work of reading, in steps of one character; several texts may share it. */
export class YamlWork {
  #left: number;

  private constructor(steps: number) {
    this.#left = steps;
  }

  /** Limit for all texts of a request. */
  static ofPeer(): YamlWork {
    return new YamlWork(PEER_STEPS);
  }

  /** Limit for the body of a request by HTTP. */
  static ofBody(): YamlWork {
    return new YamlWork(BODY_STEPS);
  }

  /** Limit for a file of the master, or a command of its operator. */
  static ofFile(): YamlWork {
    return new YamlWork(FILE_STEPS);
  }

  /** Spends the work of reading a text. @throws YamlWorkError. */
  spendText(text: string): void {
    this.spend(text.length);
  }

  /** Spends the work of the nodes that an alias repeats. @throws YamlWorkError. */
  spendAliasNodes(nodes: number): void {
    this.spend(STEPS_PER_ALIAS_NODE * nodes);
  }

  /** Spends any other work. @throws YamlWorkError. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new YamlWorkError();
  }
}

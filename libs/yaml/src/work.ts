import { YamlLoadError } from './errors.ts';

/** Thrown where a text takes more work than its sender may cause. */
export class YamlWorkError extends YamlLoadError {
  readonly code = 'SALT_YAML_WORK';

  constructor() {
    super('too large, or aliases of aliases');
    this.name = 'YamlWorkError';
  }
}

/** Some 2 µs each at worst: what peers send in one request is read in a quarter of 50 ms. */
const PEER_STEPS = 8_192;

/** Files of the master's own, and what is made of them: those of real trees have some kilobytes. */
const FILE_STEPS = 16 * 1_048_576;

/** A node that an alias stands for, and all that is in it, is made once more. */
const STEPS_PER_ALIAS_NODE = 16;

/** A bound on the work of reading, in steps of one character; several texts may share it. */
export class YamlWork {
  #left: number;

  private constructor(steps: number) {
    this.#left = steps;
  }

  /** For all texts of a request. */
  static ofPeer(): YamlWork {
    return new YamlWork(PEER_STEPS);
  }

  /** For a file of the master's own, or a command of its operator. */
  static ofFile(): YamlWork {
    return new YamlWork(FILE_STEPS);
  }

  /** Before a text is read. @throws YamlWorkError. */
  spendText(text: string): void {
    this.spend(text.length);
  }

  /** For the nodes that an alias stands for. @throws YamlWorkError. */
  spendAliasNodes(nodes: number): void {
    this.spend(STEPS_PER_ALIAS_NODE * nodes);
  }

  /** For whatever else. @throws YamlWorkError. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new YamlWorkError();
  }
}

import { WorkError } from '../work.ts';

/** The kinds of backtracking steps; each is followed by three numbers. */
export const FRAME = {
  /** Continue at an instruction and a place. */
  go: 0,
  /** Restore a register. */
  restore: 1,
  /** A repeat took too much: one less. */
  shorter: 2,
  /** A lazy repeat took too little: one more. */
  longer: 3,
} as const;
export const FRAME_SIZE = 4;

/** Numbers whose memory is kept for the next text. */
const KEPT = 4_096;

/** The remaining alternatives of a search, its registers, and the steps left to it. */
export class Stack {
  frames = new Int32Array(KEPT);
  top = 0;
  steps = 0;
  limit = 0;
  readonly registers: Int32Array;

  constructor(registers: number) {
    this.registers = new Int32Array(registers).fill(-1);
  }

  /** Prepares for the next text. */
  clear(limit: number): void {
    if (this.frames.length > KEPT) this.frames = new Int32Array(KEPT);
    this.top = 0;
    this.steps = 0;
    this.limit = limit;
    const { registers } = this;
    for (let at = 0; at < registers.length; at += 1) registers[at] = -1;
  }

  /** @throws WorkError if fewer steps are left. */
  count(steps: number): void {
    this.steps += steps;
    if (this.steps > this.limit) throw new WorkError('the expression takes too much work');
  }

  push(kind: number, pc: number, x: number, y: number): void {
    const { top } = this;
    if (top === this.frames.length) {
      const larger = new Int32Array(2 * top);
      larger.set(this.frames);
      this.frames = larger;
    }
    const { frames } = this;
    frames[top] = kind;
    frames[top + 1] = pc;
    frames[top + 2] = x;
    frames[top + 3] = y;
    this.top = top + FRAME_SIZE;
  }

  restore(frame: number): void {
    this.registers[this.frames[frame + 1] as number] = this.frames[frame + 2] as number;
  }

  /** Drops the frames above `base`; registers are restored now, or when the rest fails. */
  unwind(base: number, undo: boolean): void {
    const { frames, top } = this;
    this.count((top - base) >> 4);
    let kept = base;
    if (undo) {
      for (let at = top - FRAME_SIZE; at >= base; at -= FRAME_SIZE) {
        if (frames[at] === FRAME.restore) this.restore(at);
      }
    } else {
      for (let at = base; at < top; at += FRAME_SIZE) {
        if (frames[at] !== FRAME.restore) continue;
        frames.copyWithin(kept, at, at + FRAME_SIZE);
        kept += FRAME_SIZE;
      }
    }
    this.top = kept;
  }
}

import type { CallPlan, PlanStore } from '../src/planned-calls.ts';

/** Plans in memory, with compare-and-set as the bucket has it. */
export class MemoryPlans implements PlanStore {
  readonly plans = new Map<string, { readonly plan: CallPlan; readonly revision: number }>();
  saves = 0;

  async load(id: string): ReturnType<PlanStore['load']> {
    return this.plans.get(id);
  }

  async save(id: string, plan: CallPlan, revision: number): Promise<number | undefined> {
    if ((this.plans.get(id)?.revision ?? 0) !== revision) return undefined;
    this.saves += 1;
    this.plans.set(id, { plan, revision: revision + 1 });
    return revision + 1;
  }
}

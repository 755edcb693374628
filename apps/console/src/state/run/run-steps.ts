import type { RunStep } from '@brine/api/runs';

/** A step of an orchestration as one reads it. */
export interface Step extends RunStep {
  /** Its id in the file. */
  readonly name: string;
  /** What it does, as `salt.state`. */
  readonly fun: string;
  readonly comment?: string;
  /** Of which kind its jid is. */
  readonly leadsTo: 'job' | 'run';
}

type Fields = Readonly<Record<string, unknown>>;

const SEPARATOR = '_|-';

/** The steps of a run that is under way. */
export function stepsOf(steps: readonly RunStep[]): readonly Step[] {
  return steps.map((step) => ({ ...step, ...namesIn(step.step) }));
}

/**
 * The steps of an orchestration that has ended, from what it returned: the results of states by
 * their tags, below the id of the master. Undefined where that is something else.
 */
export function stepsOfResult(result: unknown): readonly Step[] | undefined {
  const data = fieldsIn(fieldsIn(result)?.['data']);
  const [states] = Object.values(data ?? {}).map(fieldsIn);
  if (states === undefined) return undefined;
  const rows = Object.entries(states).flatMap(([tag, one]) => {
    const fields = fieldsIn(one);
    return fields === undefined || tag.split(SEPARATOR).length !== 4 ? [] : [{ tag, fields }];
  });
  if (rows.length === 0) return undefined;
  const place = ({ fields }: { readonly fields: Fields }): number =>
    Number(fields['__run_num__'] ?? 0);
  return rows.sort((a, b) => place(a) - place(b)).map(({ tag, fields }) => stepOf(tag, fields));
}

function stepOf(tag: string, fields: Fields): Step {
  const { result, comment, __jid__: jid } = fields;
  return {
    step: tag,
    ...namesIn(tag),
    state: 'ended',
    result: typeof result === 'boolean' ? result : null,
    ...(typeof comment === 'string' ? { comment } : {}),
    ...(typeof jid === 'string' && /^\d{20}$/.test(jid) ? { jid } : {}),
  };
}

function namesIn(tag: string): Pick<Step, 'name' | 'fun' | 'leadsTo'> {
  const parts = tag.split(SEPARATOR);
  const [state = tag, id = tag, , fun = ''] = parts;
  const leadsTo = fun === 'runner' || fun === 'wheel' ? 'run' : 'job';
  return { name: id, fun: parts.length < 4 ? '' : `${state}.${fun}`, leadsTo };
}

function fieldsIn(value: unknown): Fields | undefined {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? (value as Fields) : undefined;
}

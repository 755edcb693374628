import { NotUnderstood } from './not-understood.ts';

type Label = 'year' | 'month' | 'day';
type Date3 = Partial<Record<Label, number>>;

/** The numbers of a date in the order of the text (dateutil: parser/_parser.py _ymd). */
export class YearMonthDay {
  /** True if a year is written with its century. */
  hasCentury = false;
  readonly #values: number[] = [];
  readonly #labels = new Map<Label, number>();

  get size(): number {
    return this.#values.length;
  }

  /** Adds digits of the text. @throws NotUnderstood for other texts, and for a second year */
  addText(text: string, label?: Label): void {
    if (!/^\d+$/.test(text)) throw new NotUnderstood();
    const isYear = text.length > 2;
    if (isYear) this.hasCentury = true;
    this.#add(Number(text), isYear ? labelled(label) : label);
  }

  /** Adds a number without its fraction. @throws NotUnderstood for a second year or month */
  addNumber(value: number, label?: Label): void {
    const isYear = value > 100;
    if (isYear) this.hasCentury = true;
    this.#add(Math.trunc(value), isYear ? labelled(label) : label);
  }

  #add(value: number, label: Label | undefined): void {
    this.#values.push(value);
    if (label === undefined) return;
    if (this.#labels.has(label)) throw new NotUnderstood();
    this.#labels.set(label, this.#values.length - 1);
  }

  couldBeDay(value: number): boolean {
    const monthAt = this.#labels.get('month');
    if (monthAt === undefined) return value >= 1 && value <= 31;
    const yearAt = this.#labels.get('year');
    const year = yearAt === undefined ? 2000 : this.#at(yearAt);
    return value >= 1 && value <= daysIn(year, this.#at(monthAt));
  }

  #at(at: number): number {
    return this.#values.at(at) ?? 0;
  }

  /** Assigns each number its meaning. @throws NotUnderstood for more than three */
  resolve(): Date3 {
    const count = this.#values.length;
    const known = this.#labels.size;
    if ((known > 0 && known === count) || (count === 3 && known === 2)) return this.#byLabels();
    if (count > 3) throw new NotUnderstood();
    return Object.fromEntries(this.#order().map((label, at) => [label, this.#at(at)]));
  }

  #byLabels(): Date3 {
    const labels = new Map(this.#labels);
    if (labels.size < this.#values.length) {
      const label = (['year', 'month', 'day'] as const).find((one) => !labels.has(one));
      const free = [0, 1, 2].find((at) => ![...labels.values()].includes(at));
      if (label !== undefined && free !== undefined) labels.set(label, free);
    }
    return Object.fromEntries([...labels].map(([label, at]) => [label, this.#at(at)]));
  }

  /** Numbers alone are month, day, year, as in the United States. */
  #order(): readonly Label[] {
    const monthAt = this.#labels.get('month');
    const isYear = (at: number): boolean => this.#at(at) > 31;
    const other = (at: number): Label => (isYear(at) ? 'year' : 'day');
    switch (this.#values.length) {
      case 0:
        return [];
      case 1:
        return [other(0)];
      case 2:
        if (monthAt === 0) return ['month', other(1)];
        if (monthAt === 1) return [other(0), 'month'];
        return isYear(0) ? ['year', 'month'] : ['month', other(1)];
      default:
    }
    if (monthAt === 0) return isYear(1) ? ['month', 'year', 'day'] : ['month', 'day', 'year'];
    if (monthAt === 1) return isYear(0) ? ['year', 'month', 'day'] : ['day', 'month', 'year'];
    if (monthAt === 2) return isYear(1) ? ['day', 'year', 'month'] : ['year', 'day', 'month'];
    if (isYear(0) || this.#labels.get('year') === 0) return ['year', 'month', 'day'];
    return this.#at(0) > 12 ? ['day', 'month', 'year'] : ['month', 'day', 'year'];
  }
}

function labelled(label: Label | undefined): Label {
  if (label !== undefined && label !== 'year') throw new NotUnderstood();
  return 'year';
}

/** Days of a month (from 1). Years below 100 are literal. */
export function daysIn(year: number, month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(2000 + (year % 400), month, 0);
  return date.getUTCDate();
}

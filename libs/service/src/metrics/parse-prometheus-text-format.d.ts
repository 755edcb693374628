/** An independent reader of Prometheus' text format; it comes without types. */
declare module 'parse-prometheus-text-format' {
  // eslint-disable-next-line no-restricted-syntax -- it is what the package has
  export default function parse(text: string): readonly {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly Readonly<Record<string, unknown>>[];
  }[];
}

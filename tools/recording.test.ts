import { describe, expect, test } from 'vitest';
import { drawRecording } from './recording.ts';

const LINE = 'x'.repeat(20);

describe('a recording', () => {
  test('shows the command and each line once, escaped', () => {
    const svg = drawRecording('brine demo', [{ ms: 10, text: 'a <b>\nc & d\n' }]);
    expect(svg).toContain('>$ brine demo</text>');
    expect(svg).toContain('>a &lt;b&gt;</text>');
    expect(svg).toContain('>c &amp; d</text>');
  });

  test('joins a line that came in pieces', () => {
    const svg = drawRecording('x', [
      { ms: 10, text: 'stop' },
      { ms: 20, text: 'ped\n' },
    ]);
    expect(svg).toContain('>stopped</text>');
    expect(svg).not.toContain('>stop</text>');
  });

  test('shortens long pauses', () => {
    const svg = drawRecording('x', [{ ms: 60_000, text: `${LINE}\n` }]);
    const delays = [...svg.matchAll(/animation-delay:([\d.]+)s/g)].map(([, s]) => Number(s));
    expect(delays).toHaveLength(2);
    expect(Math.max(...delays)).toBeLessThan(2);
  });

  test('ends at the last screen', () => {
    const text = Array.from({ length: 100 }, (_, index) => `${index}\n`).join('');
    const [, shift] = /#s\{transform:translateY\(-(\d+)px\)/.exec(
      drawRecording('x', [{ ms: 1, text }]),
    ) ?? [undefined, ''];
    expect(Number(shift)).toBe((101 - 30) * 16);
  });

  test('is XML that holds no script', () => {
    expect(drawRecording('x', [{ ms: 1, text: '<script>\n' }])).not.toContain('<script');
  });
});

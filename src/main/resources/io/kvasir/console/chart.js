// A small chart over time, drawn by uPlot. Its legend is text: names, colours and the figures under the pointer.
import { html, useEffect, useRef, useState } from './vendor/preact.js';
import { samples } from './live.js';
import { clock } from './format.js';
import { useStore } from './store.js';
import { colour, theme } from './theme.js';

const HEIGHT = 132;
const MINUTES_SHOWN = 15;

/** series: [{name, of, dash}]; of gives a figure of vitals; format writes it. The last quarter of an hour. */
export function Chart({ title, series, format, highest }) {
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const chosen = useStore(theme);
  useEffect(() => {
    const options = chartOptions(series, format, highest, box.current.clientWidth, setAt);
    plot.current = new globalThis.uPlot(options, data(series), box.current);
    const observer = new ResizeObserver(() =>
      plot.current.setSize({ width: box.current.clientWidth, height: HEIGHT }),
    );
    observer.observe(box.current);
    const system = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => plot.current.redraw();
    system.addEventListener('change', redraw);
    return () => {
      system.removeEventListener('change', redraw);
      observer.disconnect();
      plot.current.destroy();
    };
  }, [chosen]);
  useEffect(() => {
    plot.current.setData(data(series), false);
    plot.current.setScale('x', window());
  });
  const shown = samples[at ?? samples.length - 1];
  return html`
    <figure class="chart" aria-label=${title}>
      <figcaption><strong>${title}</strong>${at !== null && shown &&
          html`<span>${clock(new Date(shown.at * 1000))}</span>`}</figcaption>
      <div ref=${box} aria-hidden="true"></div>
      <ul class="legend">${series.map(
        (line, index) => html`
        <li><i class=${`series-${index + 1}`} />${line.name} <b>${format(shown ? line.of(shown.vitals)
            : null)}</b></li>`,
      )}
      </ul>
    </figure>`;
}

function window() {
  const end = samples.at(-1)?.at ?? Date.now() / 1000;
  return { min: end - 60 * MINUTES_SHOWN, max: end };
}

const data = series => [
  samples.map(sample => sample.at),
  ...series.map(line => samples.map(sample => line.of(sample.vitals) ?? null)),
];

function chartOptions(series, format, highest, width, onCursor) {
  const axis = {
    stroke: () => colour('soft'),
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const minutes = (_, marks) => marks.map(mark => clock(new Date(mark * 1000)).slice(0, 5));
  return {
    width,
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { setScale: false } },
    scales: {
      x: { time: true, range: () => [window().min, window().max] },
      y: { range: (_, low, high) => [0, highest ?? nice(high)] },
    },
    axes: [
      { ...axis, values: minutes, space: 70, size: 26 },
      { ...axis, values: (_, marks) => marks.map(format), space: 34, size: 58 },
    ],
    series: [
      {},
      ...series.map((line, index) => ({
        stroke: () => colour(`series-${index + 1}`),
        width: 1.75,
        dash: line.dash,
        spanGaps: false,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [plot => onCursor(plot.cursor.idx ?? null)] },
  };
}

/** The next of 1, 2, 5, 10, 20 … */
function nice(high) {
  if (!(high > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(high * 1.05));
  return power * [1, 2, 5, 10].find(step => step * power >= high * 1.05);
}

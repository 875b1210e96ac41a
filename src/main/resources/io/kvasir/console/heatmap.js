// The map of the fleet: a tile for each worker, its colour a measure's, its border its condition.
import { html, useRef } from './vendor/preact.js';
import { plural } from './format.js';
import { condition, grouped, scale, STEPS } from './measures.js';

/** Tiles with names up to so many workers, with figures only up to so many, and bare squares beyond. */
const NAMED = 48;
const FIGURED = 300;

const STEP_NUMBERS = Array.from({ length: STEPS }, (_, step) => step);

const sizeOf = workers => (workers <= NAMED ? 'named' : workers <= FIGURED ? 'figured' : 'bare');

/** chosen is the id of the worker that is open; matches says which ones a search found. */
export function HeatMap({ workers, measure, group, chosen, matches, onChoose }) {
  const map = useRef(null);
  const spread = scale(measure, workers);
  const groups = grouped(workers, group.of);
  const first = chosen ?? groups[0]?.[1][0]?.id;
  const move = event => {
    const tile = event.target.closest('[role=gridcell]');
    const next = tile && neighbour(map.current, tile, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  return html`
    <div class=${`heatmap ${sizeOf(workers.length)}`} ref=${map} role="grid" aria-label=${`Workers by ${measure.name}`}
        onKeyDown=${move}>
      ${groups.map(
        ([name, members]) => html`
        <div role="row" class="group" key=${name} aria-label=${name || 'All workers'}>
          ${name && html`<h3 role="rowheader">${name} <span>${plural(members.length, 'worker')}</span></h3>`}
          <div class="tiles" role="presentation">${members.map(
            worker => html`
            <${Tile} key=${worker.id} worker=${worker} step=${spread.step(worker)} measure=${measure}
                onChoose=${onChoose}
                     focusable=${worker.id === first} chosen=${worker.id === chosen} dim=${!matches(worker)} />`,
          )}
          </div>
        </div>`,
      )}
    </div>
    <${Legend} measure=${measure} most=${spread.most} />`;
}

function Tile({ worker, step, measure, focusable, chosen, dim, onChoose }) {
  const { kind, word } = condition(worker);
  const figure = measure.format(measure.of(worker));
  const classes = [
    'tile',
    step === null ? 'unknown' : `heat-${step}`,
    kind,
    chosen ? 'chosen' : '',
    dim ? 'dim' : '',
  ];
  return html`
    <button role="gridcell" class=${classes.join(' ')} tabindex=${focusable ? 0 : -1} data-worker=${worker.id}
            aria-selected=${chosen} onClick=${() => onChoose(worker)} title=${`${worker.id}: ${figure}, ${word}`}
            aria-label=${`${worker.id}, ${measure.name} ${figure}, ${word}`}>
      <span class="name">${worker.id}</span><span class="value">${figure}</span>
    </button>`;
}

/** The colours of the scale, from nothing to most. */
export const Steps = () =>
  html`<span class="steps" aria-hidden="true">${STEP_NUMBERS.map(step => html`<i class=${`heat-${step}`} />`)}</span>`;

const Legend = ({ measure, most }) => html`
  <p class="scale"><span>${measure.name}: ${measure.format(0)}</span>
    <${Steps} />
    <span>${measure.format(most)}</span>
    <span><i class="unknown" />not known</span><span><i class="edge bad" />not healthy</span>
    <span><i class="edge warn" />draining or suspect</span></p>`;

/** The tile that an arrow key leads to: the next in order, or the nearest above or below, whatever the width is. */
function neighbour(map, tile, key) {
  const tiles = [...map.querySelectorAll('[role=gridcell]')];
  const at = tiles.indexOf(tile);
  switch (key) {
    case 'ArrowRight':
      return tiles[at + 1];
    case 'ArrowLeft':
      return tiles[at - 1];
    case 'Home':
      return tiles[0];
    case 'End':
      return tiles.at(-1);
    case 'ArrowDown':
      return nearest(tile, tiles.slice(at + 1));
    case 'ArrowUp':
      return nearest(tile, tiles.slice(0, at).reverse());
    default:
      return undefined;
  }
}

function nearest(tile, others) {
  const from = tile.getBoundingClientRect();
  const line = others.find(other => other.offsetTop !== tile.offsetTop)?.offsetTop;
  const distance = other => Math.abs(other.getBoundingClientRect().left - from.left);
  return others
    .filter(other => other.offsetTop === line)
    .reduce((best, other) => (best && distance(best) <= distance(other) ? best : other), undefined);
}

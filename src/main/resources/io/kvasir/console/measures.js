// What the map of the fleet can show of a worker. of gives a figure, null where it is not known; most is the figure
// that fills the scale: a number, or 'fleet' for the highest one there is.
import { count, millis, percent, short } from './format.js';

export const MEASURES = [
  { id: 'cache', name: 'Cache fill', of: worker => worker.cache_fill, most: 1, format: percent },
  { id: 'blocks', name: 'Blocks in the index', of: worker => worker.blocks, most: 'fleet', format: short },
  {
    id: 'pending',
    name: 'Pending prefill tokens',
    of: worker => worker.pending_tokens,
    most: 'fleet',
    format: short,
  },
  { id: 'in-flight', name: 'Requests in flight', of: worker => worker.in_flight, most: 'fleet', format: count },
  {
    id: 'waiting',
    name: 'Waiting in the engine',
    of: worker => worker.engine_reports?.waiting,
    most: 'fleet',
    format: count,
  },
  {
    id: 'kv',
    name: 'KV use the engine reports',
    of: worker => worker.engine_reports?.kv_use,
    most: 1,
    format: percent,
  },
  { id: 'distrust', name: 'Distrust of the index', of: worker => 1 - worker.trust, most: 1, format: percent },
  { id: 'lag', name: 'Lag of events', of: worker => worker.event_lag_ms, most: 'fleet', format: millis },
];

export const GROUPS = [
  { id: 'cell', name: 'cell', of: worker => worker.cell },
  { id: 'model', name: 'model', of: worker => worker.models[0] ?? 'no model' },
  { id: 'role', name: 'role', of: worker => worker.role },
  { id: 'none', name: 'nothing', of: () => '' },
];

export const STEPS = 8;

/** How a measure spreads over workers: most, and the step 0..7 of a figure, null where it is not known. */
export function scale(measure, workers) {
  const most =
    measure.most === 'fleet' ? Math.max(1, ...workers.map(worker => measure.of(worker) ?? 0)) : measure.most;
  return {
    most,
    step(worker) {
      const figure = measure.of(worker);
      if (figure === null || figure === undefined) return null;
      return Math.max(0, Math.min(STEPS - 1, Math.floor((STEPS * figure) / most)));
    },
  };
}

/** What is the matter with a worker: 'bad', 'warn' or 'good', and in a word. */
export function condition(worker) {
  if (worker.health !== 'healthy') return { kind: 'bad', word: worker.health };
  if (worker.drained) return { kind: 'plain', word: 'drained' };
  if (worker.draining) return { kind: 'warn', word: 'draining' };
  if (worker.suspect) return { kind: 'warn', word: 'suspect' };
  return { kind: 'good', word: 'healthy' };
}

/** Groups of things by a key, in the order of the keys. */
export function grouped(things, keyOf) {
  const groups = new Map();
  for (const thing of things) {
    const key = keyOf(thing);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(thing);
  }
  return [...groups].sort(([a], [b]) => String(a).localeCompare(String(b), 'en', { numeric: true }));
}

// What changes every second: one stream of /admin/watch for the page that is open. A hidden tab has none, a lost one is
// tried again, and the page says since when its figures are old.
import { useEffect } from './vendor/preact.js';
import { call, request, session } from './api.js';
import { merged } from './merge.js';
import { store, useStore } from './store.js';

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** The router sends something every second; a stream without a byte for so long is lost. */
const SILENCE_MS = 8000;
/** What the router keeps, in seconds, and a few samples more. */
const REMEMBERED_S = 900;
const HISTORY = '/admin/vitals/history';
/** After so long without a sample, what has been meanwhile is asked for. */
const STALE_S = 15;

/** state: 'connecting', 'live' or 'lost', why and since when nothing came; topics: the last state of each. */
export const live = store({ state: 'connecting', why: '', since: null, topics: {} });

/** The vitals of the last quarter of an hour, oldest first: as the router has kept them, then as they come. */
export const samples = [];

let wanted = '';
let aborter = null;
let retry = 0;
let wait = FIRST_WAIT_MS;
let heard = null;

/** The state of a topic, null until it has come. A page names all its topics, in one call. */
export function useLive(...topics) {
  const list = topics.join(',');
  useEffect(() => watch(list), [list]);
  const { topics: states } = useStore(live);
  return topics.map(topic => states[topic] ?? null);
}

function watch(list) {
  if (list === wanted) return;
  wanted = list;
  connect();
}

function connect() {
  clearTimeout(retry);
  aborter?.abort();
  if (document.hidden || wanted === '' || session.get().state !== 'open') return;
  aborter = new AbortController();
  recall(aborter.signal);
  follow(aborter).catch(failed => lost(failed));
}

async function follow(own) {
  const response = await request(`watch?topics=${wanted}`, { signal: own.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = eventReader();
  let watchdog = 0;
  try {
    for (;;) {
      watchdog = setTimeout(() => own.abort(new Error('silent')), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(watchdog);
      if (done) throw new Error('the stream ended');
      heard = new Date();
      wait = FIRST_WAIT_MS;
      const come = events(value);
      if (!own.signal.aborted) take(come);
    }
  } finally {
    clearTimeout(watchdog);
  }
}

function lost(failed) {
  // Aborted for another page's topics, or because the tab is hidden: whoever did that goes on.
  if (failed.name === 'AbortError' || session.get().state !== 'open') return;
  live.update({ state: 'lost', why: failed.message, since: heard });
  clearTimeout(retry);
  retry = setTimeout(connect, wait * (0.75 + Math.random() / 2));
  wait = Math.min(2 * wait, LONGEST_WAIT_MS);
}

/** All at once, so that the page is drawn once; not at all where nothing was said but that the router is there. */
function take(events) {
  if (events.length === 0 && live.get().state === 'live') return;
  const topics = { ...live.get().topics };
  for (const { topic, frame } of events) {
    topics[topic] = 'full' in frame ? frame.full : merged(topics[topic], frame.patch);
    if (topic === 'vitals') remember(topics[topic]);
  }
  live.update({ state: 'live', topics });
}

function remember(vitals) {
  const at = Date.parse(vitals.time) / 1000;
  samples.push({ at, vitals });
  while (samples[0].at < at - REMEMBERED_S) samples.shift();
}

/** What was before this tab looked. Charts do without it where it cannot be had. */
async function recall(signal) {
  const last = samples.at(-1)?.at ?? 0;
  if (Date.now() / 1000 - last < STALE_S || !session.get().calls.has(HISTORY)) return;
  samples.length = 0;
  try {
    const { samples: kept } = await call('vitals/history', { signal });
    const first = samples[0]?.at ?? Number.POSITIVE_INFINITY;
    const before = kept.map(vitals => ({ at: Date.parse(vitals.time) / 1000, vitals }));
    samples.unshift(...before.filter(({ at }) => at < first));
    live.update({});
  } catch {
    // The stream says what is wrong.
  }
}

/** Splits text that comes in pieces into events, and returns those that a piece completes. Comments are left out. */
function eventReader() {
  let rest = '';
  return piece => {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop();
    return blocks.flatMap(block => {
      const lines = block.split('\n');
      const field = name => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field('data');
      return data === undefined ? [] : [{ topic: field('event'), frame: JSON.parse(data) }];
    });
  };
}

/** Tries again at once. */
export function reconnect() {
  wait = FIRST_WAIT_MS;
  connect();
}

document.addEventListener('visibilitychange', connect);
session.follow(connect);

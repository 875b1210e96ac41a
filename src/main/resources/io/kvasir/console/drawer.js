// What is known of one worker, beside the page, and the way to drain it.
import { html, useEffect, useRef, useState } from './vendor/preact.js';
import { call, session, useAnswer } from './api.js';
import { count, millis, moment, percent, score, short, UNKNOWN } from './format.js';
import { condition } from './measures.js';
import { Bar, Confirm, Facts, Mark, Missing } from './parts.js';
import { link } from './route.js';
import { useStore } from './store.js';

export function WorkerDrawer({ worker, onClose }) {
  const { role } = useStore(session);
  const drawer = useRef(null);
  const [asking, setAsking] = useState(false);
  const { kind, word } = condition(worker);
  useEffect(() => {
    const before = document.activeElement;
    drawer.current.focus();
    return () => before?.focus?.();
  }, [worker.id]);
  const close = event => event.key === 'Escape' && !asking && onClose();
  return html`
    <section class="drawer" role="dialog" aria-label=${`Worker ${worker.id}`} tabindex="-1" ref=${drawer}
        onKeyDown=${close} data-drawer>
      <header><h2>${worker.id}</h2><${Mark} kind=${kind}>${word}<//><button class="close" onClick=${onClose}
          aria-label="Close">✕</button></header>
      ${worker.why && html`<p class="why">${worker.why}</p>`}
      ${
        role === 'admin' &&
        html`<div class="actions">
        <button onClick=${() => setAsking(true)} data-drain>${worker.draining ? 'Let it serve again'
            : 'Drain'}</button></div>`
      }
      <${Now} worker=${worker} />
      <${Index} worker=${worker} />
      <${Identity} worker=${worker} />
      <${History} pod=${worker.pod} draining=${worker.draining} />
      ${asking && html`<${AskDrain} worker=${worker} onClose=${() => setAsking(false)} />`}
    </section>`;
}

function AskDrain({ worker, onClose }) {
  const { pod, draining } = worker;
  const others = worker.ranks > 1 ? ` All ${worker.ranks} ranks of it.` : '';
  const act = () => call(`workers/${encodeURIComponent(pod)}/${draining ? 'undrain' : 'drain'}`, { method: 'POST' });
  return draining
    ? html`<${Confirm} title=${`Let ${pod} serve again?`} verb="Let it serve" act=${act} onClose=${onClose}>
        New requests may go there at once.${others}<//>`
    : html`<${Confirm} title=${`Drain ${pod}?`} verb="Drain" act=${act} onClose=${onClose}>
        Nothing new goes there; what is in flight (${count(worker.in_flight)}) is served to its end.${others}<//>`;
}

/** What the router has booked, and beside it the engine's own report. */
function Now({ worker }) {
  const report = worker.engine_reports;
  return html`
    <h3>Load, as booked</h3>
    <${Facts} entries=${[
      ['In flight', `${count(worker.in_flight)} of ${count(worker.max_in_flight)}`],
      ['Pending prefill', `${short(worker.pending_tokens)} tokens`],
      ...(worker.cost ? [['Cost learnt', learnt(worker.cost)]] : []),
    ]} />
    <h3>Load, as the engine reports</h3>
    ${
      report
        ? html`<${Facts} entries=${[
            ['Running', count(report.running)],
            ['Waiting', count(report.waiting)],
            ['KV use', percent(report.kv_use)],
          ]} />`
        : html`<p class="soft">It reports none.</p>`
    }`;
}

const learnt = ({ ms_per_token: token, ms_per_pair: pair, samples }) =>
  `${score(1000 * token)} µs/token, ${score(1e6 * pair)} ns/pair, ${count(samples)} samples`;

function Index({ worker }) {
  const { kept = 0, broken = 0 } = worker.promises ?? {};
  const capacity = worker.capacity_blocks;
  return html`
    <h3>Index</h3>
    <${Facts} entries=${[
      [
        'Blocks held',
        html`${count(worker.blocks)}${capacity ? ` of ${count(capacity)}` : ''} <${Bar} share=${worker.cache_fill} />`,
      ],
      ['Of those predicted', count(worker.predicted_blocks)],
      [
        'Promises kept',
        kept + broken > 0
          ? `${count(kept)} of ${count(kept + broken)} (${percent(kept / (kept + broken))})`
          : UNKNOWN,
      ],
      ['Trust', percent(worker.trust)],
      ['Lag of events', millis(worker.event_lag_ms)],
      ['Last sequence', worker.last_sequence < 0 ? 'none yet' : count(worker.last_sequence)],
      ['Resyncs', count(worker.resyncs)],
    ]} />`;
}

const Identity = ({ worker }) => html`
  <h3>What it is</h3>
  <${Facts} entries=${[
    ['Pod', html`${worker.pod}${worker.ranks > 1 ? `, rank ${worker.rank} of ${worker.ranks}` : ''}`],
    ['URL', worker.url],
    ['Models', worker.models.join(', ')],
    ['Role', worker.role],
    ['Cell', html`<a href=${link('cluster')}>${worker.cell}</a>`],
    ['Engine', worker.engine || UNKNOWN],
    ...Object.entries(worker.labels ?? {}),
  ]} />
  <p><a href=${link('decisions', '', { worker: worker.id })}>Decisions for it</a></p>`;

function History({ pod, draining }) {
  const { data, error, reload } = useAnswer(`workers/${encodeURIComponent(pod)}`);
  useEffect(reload, [draining]);
  return html`<h3>Health</h3>
    ${
      !data
        ? html`<${Missing} error=${error} />`
        : !data.history?.length
          ? html`<p>No change since this node knows it.</p>`
          : html`
    <ol class="history">${data.history.map(
      ({ time, health, why }) => html`
      <li><time>${moment(time)}</time> <${Mark}
          kind=${health === 'healthy' ? 'good' : 'bad'}>${health}<//> ${why}</li>`,
    )}</ol>`
    }`;
}

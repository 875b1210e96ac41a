// Shared prefixes as an icicle: width is traffic, colour is how many workers hold a run. Hashes only, never text.
import { html, useRef, useState } from '../vendor/preact.js';
import { useAnswer } from '../api.js';
import { ago, count, hash, percent, plural, short, UNKNOWN } from '../format.js';
import { Steps } from '../heatmap.js';
import { useLive } from '../live.js';
import { STEPS } from '../measures.js';
import { Choice, Empty, Facts, Heading, Missing, Panel } from '../parts.js';
import { amend, route } from '../route.js';
import { useStore } from '../store.js';

/** Runs narrower than this share of the picture are left out: nobody could see or press them. */
const NARROWEST = 0.004;
const DEEPEST = 12;

export function Prefixes() {
  useLive('vitals');
  const { query } = useStore(route);
  const { data: fleet } = useAnswer('workers');
  const models = [...new Set((fleet?.workers ?? []).flatMap(worker => worker.models))].sort();
  const model = query.model ?? models[0] ?? '';
  const { data, error, reload } = useAnswer(model ? `prefixes?model=${encodeURIComponent(model)}` : null);
  return html`
    <${Heading} title="Prefixes" about=${about(data)}>
      <${Choice} label="Model" value=${model} options=${models.map(each => [each, each])}
          onChange=${each => amend({ model: each })} />
      <button onClick=${reload}>Refresh</button>
    <//>
    ${fleet && models.length === 0 && html`<${Empty} title="There are no workers.">Prefixes are shown by model, once
        there is one.<//>`}
    ${data ? html`<${Tree} key=${data.model} tree=${data} />` : models.length > 0 && html`<${Missing} error=${error}
        />`}`;
}

function about(data) {
  if (!data) return 'What requests begin with';
  const silent = data.missing_cells ?? [];
  return `From ${plural(data.sampled_requests, 'sampled request')} of this node${
    silent.length > 0 ? `; without the workers of ${silent.join(', ')}, whose home did not answer` : ''}`;
}

function Tree({ tree }) {
  const [path, setPath] = useState([]);
  const [chosen, setChosen] = useState(null);
  if (tree.roots.length === 0) {
    return html`<${Empty} title="No request was sampled yet.">Send some for this model; prompts shorter than a block
        have no prefix to share.<//>`;
  }
  const top = path.at(-1);
  const runs = layout(top ? [top] : tree.roots);
  const open = run => {
    setChosen(run.node);
    if (run.node.children?.length) setPath([...path, run.node]);
  };
  return html`
    <${Panel} title="Icicle" wide
        about="Top: how prompts begin. Width: share of the requests. Colour: workers that hold it."
      actions=${path.length > 0 && html`<button onClick=${() => setPath(path.slice(0, -1))} data-up>Up</button>`}>
      <${Icicle} runs=${runs} chosen=${chosen} onChoose=${run => setChosen(run.node)} onOpen=${open} />
      <p class="scale"><span>0 holders</span><${Steps} /><span>${STEPS - 1} or more</span></p>
    <//>
    <${Run} node=${chosen ?? top ?? tree.roots[0]} all=${tree.sampled_requests} />`;
}

/** Where each run lies: {node, level, from, width}, in shares of the whole width. */
function layout(roots) {
  const runs = [];
  const place = (nodes, level, from, width, requests) => {
    let at = from;
    for (const node of [...nodes].sort((a, b) => b.requests - a.requests)) {
      const own = width * (node.requests / requests);
      if (own < NARROWEST || level >= DEEPEST) continue;
      runs.push({ node, level, from: at, width: own });
      place(node.children ?? [], level + 1, at, own, node.requests);
      at += own;
    }
  };
  place(
    roots,
    0,
    0,
    1,
    roots.reduce((sum, { requests }) => sum + requests, 0),
  );
  return runs;
}

function Icicle({ runs, chosen, onChoose, onOpen }) {
  const box = useRef(null);
  const levels = 1 + Math.max(...runs.map(({ level }) => level));
  const focused = runs.find(({ node }) => node === chosen) ?? runs[0];
  const move = event => {
    const at = runs.indexOf(focused);
    const next = step(runs, at, event.key);
    if (!next) return;
    event.preventDefault();
    onChoose(next);
    box.current.querySelector(`[data-run="${runs.indexOf(next)}"]`).focus();
  };
  return html`
    <div class="icicle" role="tree" aria-label="Prefixes" ref=${box} onKeyDown=${move}
        style=${{ height: `${levels * 34}px` }}>
      ${runs.map(
        (run, at) => html`
        <button role="treeitem" key=${at} data-run=${at} tabindex=${run === focused ? 0 : -1}
            aria-level=${run.level + 1} aria-selected=${run.node === chosen}
          class=${`run heat-${Math.min(STEPS - 1, run.node.holders)}`} onClick=${() => onChoose(run)}
              onDblClick=${() => onOpen(run)}
          onKeyPress=${event => event.key === 'Enter' && onOpen(run)}
          style=${{ left: `${100 * run.from}%`, width: `${100 * run.width}%`, top: `${34 * run.level}px` }}
          title=${label(run.node)} aria-label=${label(run.node)}>${run.width > 0.05 ? `${short(run.node.tokens)} tokens`
              : ''}</button>`,
      )}
    </div>`;
}

const label = node =>
  `${hash(node.hash)}: ${count(node.tokens)} tokens, ${plural(node.requests, 'request')}, ${plural(node.holders,
      'holder')}`;

/** The run an arrow key leads to: beside it on its level, the widest below, or the one it hangs from. */
function step(runs, at, key) {
  const { level, from, width } = runs[at];
  const beside = runs.filter(run => run.level === level);
  switch (key) {
    case 'ArrowRight':
      return beside[beside.indexOf(runs[at]) + 1];
    case 'ArrowLeft':
      return beside[beside.indexOf(runs[at]) - 1];
    case 'ArrowDown':
      return runs.find(run => run.level === level + 1 && run.from >= from && run.from < from + width);
    case 'ArrowUp':
      return runs.find(run => run.level === level - 1 && run.from <= from && from < run.from + run.width);
    default:
      return undefined;
  }
}

const Run = ({ node, all }) => html`
  <${Panel} title="The chosen run">
    <${Facts} entries=${[
      ['Hash', html`<code>${node.hash}</code>`],
      ['Length', `${count(node.tokens)} tokens, ${plural(node.blocks, 'block')} without a branch`],
      ['Requests', `${count(node.requests)} of ${count(all)} sampled (${percent(node.requests / all)})`],
      ['Held by', plural(node.holders, 'worker')],
      ['Last used', ago(node.last_used)],
      ['Tenant', node.tenant ?? UNKNOWN],
      ['Goes on in', plural(node.children?.length ?? 0, 'way')],
    ]} />
  <//>`;

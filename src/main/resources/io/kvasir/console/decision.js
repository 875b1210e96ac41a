// One decision, step by step: who was there, who left and why, how the rest scored, who was taken, and what came of it.
import { html } from './vendor/preact.js';
import { count, hash, millis, moment, percent, score, short, UNKNOWN } from './format.js';
import { Bar, Facts, Mark, Table } from './parts.js';
import { grouped } from './measures.js';
import { link } from './route.js';

/** decision as /admin/decisions and /admin/explain give it. */
export const Decision = ({ decision }) => html`
  <article class="decision" data-decision=${decision.request_id}>
    <p class="reason">${decision.refused ? html`<${Mark} kind="bad">refused: ${decision.refused}<//>` : html`<${Mark}
        kind="good">sent<//>`}
      <code>${decision.reason}</code></p>
    <${Facts} entries=${facts(decision)} />
    <${Plan} decision=${decision} />
    ${decision.passes.map((pass, index) => html`<${Pass} key=${index} pass=${pass} decision=${decision}
        number=${index + 1} />`)}
    <${Outcomes} outcomes=${decision.outcomes ?? []} />
    <${Chain} decision=${decision} />
  </article>`;

function facts(decision) {
  const cells = decision.cells?.map(
    ({ cell, pressure, passed_over: why }) =>
      `${cell} (${pressure === undefined ? 'pressure not known' : `${percent(pressure)} full`}${why
          ? `, passed over: ${why}` : ''})`,
  );
  return [
    ['Request', html`<code>${decision.request_id}</code>`],
    ...(decision.trace_id ? [['Trace', html`<code>${decision.trace_id}</code>`]] : []),
    ['Model', decision.model],
    ['Profile', html`<a href=${link('profiles', decision.profile)}>${decision.profile}</a>`],
    ['Cell', cells ? cells.join(', ') : decision.cell],
    ['Prompt', `${count(decision.prompt_tokens)} tokens, ${count(decision.blocks)} blocks of ${decision.block_size}`],
    ['Expected output', `${count(Math.round(decision.expected_output_tokens))} tokens`],
    ...(decision.tokens_from
      ? [['Tokens from', [decision.tokens_from, decision.tokens_from_why].filter(Boolean).join(', ')]]
      : []),
    ...Object.entries(decision.slots).map(([slot, value]) => [slot, value]),
    ...(decision.excluded.length > 0 ? [['Failed it before', decision.excluded.join(', ')]] : []),
  ];
}

const Plan = ({ decision }) =>
  decision.plan.length === 0
    ? null
    : html`
  <h3>Plan</h3>
  <ol class="plan">${decision.plan.map(
    step => html`
    <li><strong>${step.step}</strong> at <a href=${link('overview', '', { worker: step.worker })}>${step.worker}</a>
      ${step.alternatives.length > 0 && html`<span
          class="soft">; if that fails, ${step.alternatives.join(', ')}</span>`}
      <${FromCache} step=${step} decision=${decision} /></li>`,
  )}
  </ol>`;

/** What of the prompt could have come from a cache, what was promised of it, and what the engine says did. */
function FromCache({ step, decision }) {
  const prompt = decision.prompt_tokens;
  const outcome = decision.outcomes?.findLast(each => each.step === step.step);
  const figures = [
    ['Seen before', step.ever_cached_tokens, 'by the cell, whoever holds it now'],
    ['Best held', step.best_cached_tokens, 'by a worker that could have been taken'],
    ['Promised', step.cached_tokens, 'held by the one that was'],
    ['Delivered', outcome?.cached_tokens, 'as the engine reports'],
  ].filter(([, tokens]) => tokens !== undefined);
  return html`
    <dl class="from-cache">${figures.map(
      ([name, tokens, what]) => html`
      <div title=${what}><dt>${name}</dt><dd><${Bar} share=${tokens / prompt} /></dd>
        <dd class="figure">${count(tokens)}</dd><dd class="figure soft">${percent(tokens / prompt)}</dd></div>`,
    )}
    </dl>
    ${
      step.regret > 0 &&
      html`<p class="note">Regret ${percent(step.regret)}: the share of what has to be computed that the best
      worker held.</p>`
    }`;
}

/** The stages of one pass: all that were alive, those that each filter took out, those scored, the one picked. */
function Pass({ pass, decision, number }) {
  const removed = pass.candidates.filter(candidate => candidate.removed_by);
  const left = pass.candidates.filter(candidate => !candidate.removed_by);
  return html`
    <h3>${decision.passes.length > 1 ? `Choice ${number}: ` : ''}Stages, for role ${pass.role}</h3>
    <ol class="stages">
      <li><b>${count(pass.candidates.length)}</b> alive</li>
      ${grouped(removed, candidate => candidate.removed_by).map(
        ([filter, gone]) => html`
        <li class="gone"><b>−${count(gone.length)}</b> ${filter}
          <details><summary>who</summary>${gone.map(({ worker }) => worker).join(', ')}</details></li>`,
      )}
      <li><b>${count(left.length)}</b> scored</li>
      <li class=${pass.chosen ? 'picked' : 'gone'}><b>${pass.chosen ?? 'none'}</b> picked</li>
    </ol>
    <${Table} caption="Candidates" columns=${candidateColumns(pass, decision)}
        rows=${[...left].sort((a, b) => b.total - a.total).concat(removed)}
      keyOf=${candidate => candidate.worker} classOf=${candidate => (candidate.worker === pass.chosen ? 'picked'
          : candidate.removed_by ? 'gone' : '')} />`;
}

function candidateColumns(pass, decision) {
  const scorers = [...new Set(pass.candidates.flatMap(candidate => candidate.scores.map(({ scorer }) => scorer)))];
  const heldTokens = candidate => Math.min(candidate.depth * decision.block_size, decision.prompt_tokens);
  const present = candidate => !candidate.removed_by;
  const ofPresent = write => candidate => (present(candidate) ? write(candidate) : UNKNOWN);
  const scored = (candidate, name) => candidate.scores.find(({ scorer }) => scorer === name);
  return [
    { name: 'Worker', of: candidate => candidate.worker, order: candidate => candidate.worker },
    {
      name: 'Outcome',
      of: candidate =>
        candidate.worker === pass.chosen
          ? html`<${Mark} kind="good">picked<//>`
          : present(candidate)
            ? ''
            : html`<${Mark}>${candidate.removed_by}<//>`,
    },
    {
      name: 'Held',
      figure: true,
      title: 'Tokens of the prompt it holds',
      order: heldTokens,
      of: ofPresent(
        candidate =>
          html`${count(heldTokens(candidate))} <${Bar} share=${heldTokens(candidate) / decision.prompt_tokens} />`,
      ),
    },
    {
      name: 'To compute',
      figure: true,
      title: 'Tokens of the prompt it would have to compute',
      of: ofPresent(candidate => count(decision.prompt_tokens - heldTokens(candidate))),
      order: candidate => -heldTokens(candidate),
    },
    {
      name: 'In flight',
      figure: true,
      of: candidate => count(candidate.in_flight),
      order: candidate => candidate.in_flight,
    },
    {
      name: 'Pending',
      figure: true,
      title: 'Prompt tokens of others that wait there',
      of: candidate => short(candidate.pending_tokens),
      order: candidate => candidate.pending_tokens,
    },
    {
      name: 'Queue',
      figure: true,
      title: 'How long those take',
      of: candidate => millis(candidate.queue_ms),
      order: candidate => candidate.queue_ms,
    },
    ...scorers.map(name => ({
      name,
      figure: true,
      title: 'Its part of the total, and in brackets the score it comes from',
      order: candidate => scored(candidate, name)?.contribution,
      of: ofPresent(candidate => {
        const { contribution, raw } = scored(candidate, name) ?? {};
        return html`${score(contribution)} <span class="soft">(${score(raw)})</span>`;
      }),
    })),
    {
      name: 'Total',
      figure: true,
      title: 'The higher, the better',
      of: ofPresent(candidate => score(candidate.total)),
      order: candidate => (present(candidate) ? candidate.total : -Infinity),
    },
    {
      name: 'Trust',
      figure: true,
      title: 'How sure the index is of it',
      of: candidate => percent(candidate.state?.trust),
      order: candidate => candidate.state?.trust,
    },
  ];
}

function Outcomes({ outcomes }) {
  if (outcomes.length === 0) return null;
  const columns = [
    { name: 'Worker', of: outcome => outcome.worker },
    {
      name: 'Outcome',
      of: outcome => html`<${Mark} kind=${outcome.outcome === 'completed' ? 'good' : 'warn'}>${outcome.outcome}<//>`,
    },
    {
      name: 'Held',
      figure: true,
      title: 'Until earlier requests had computed what it counts on',
      of: outcome => millis(outcome.held_ms),
    },
    { name: 'First token', figure: true, of: outcome => millis(outcome.ttft_ms) },
    { name: 'Prompt', figure: true, of: outcome => count(outcome.prompt_tokens) },
    {
      name: 'Promised',
      figure: true,
      title: 'Tokens expected from its cache',
      of: outcome => count(outcome.predicted_cached_tokens),
    },
    {
      name: 'Delivered',
      figure: true,
      title: 'Tokens from its cache, as the engine reports',
      of: outcome => count(outcome.cached_tokens),
    },
    { name: 'Output', figure: true, of: outcome => count(outcome.output_tokens) },
    { name: 'Over at', figure: true, of: outcome => moment(outcome.time) },
  ];
  return html`<h3>What came of it</h3>
    <${Table} caption="Outcomes" columns=${columns} rows=${outcomes}
        keyOf=${outcome => `${outcome.step} ${outcome.worker} ${outcome.time}`} />`;
}

const Chain = ({ decision }) =>
  decision.chain.length === 0
    ? null
    : html`
  <details><summary>Its blocks, by hash (${decision.chain.length} of ${count(decision.blocks)})</summary>
    <p class="hashes">${decision.chain.map(block => html`<code>${hash(block)}</code> `)}</p></details>`;

// What would be done with a request, and with another profile: nothing is sent, booked or remembered.
import { html, useRef, useState } from '../vendor/preact.js';
import { call, useAnswer } from '../api.js';
import { Decision } from '../decision.js';
import { useLive } from '../live.js';
import { Choice, Empty, Heading, Panel } from '../parts.js';

const PATHS = ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'];

const example = model =>
  JSON.stringify(
    { model, messages: [{ role: 'user', content: 'When does the sun set in Tromsø in June?' }] },
    null,
    2,
  );

export function Explain() {
  useLive('vitals');
  const { data: profiles } = useAnswer('profiles');
  const { data: fleet } = useAnswer('workers');
  const model = fleet?.workers[0]?.models[0] ?? 'your-model';
  const names = profiles?.profiles.map(({ name }) => name) ?? [];
  return html`
    <${Heading} title="Explain"
        about="What would be done with a request. Nothing is sent to an engine, booked or remembered." />
    ${profiles && fleet && html`<${Form} names=${names} model=${model} />`}`;
}

function Form({ names, model }) {
  const body = useRef(null);
  const [path, setPath] = useState(PATHS[0]);
  const [profile, setProfile] = useState('');
  const [other, setOther] = useState('');
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const ask = async event => {
    event.preventDefault();
    setError(null);
    try {
      setAnswer(await explain({ path, profile, other, text: body.current.value }));
    } catch (refused) {
      setAnswer(null);
      setError(refused.message);
    }
  };
  const choices = [['', 'as it would be chosen'], ...names.map(name => [name, name])];
  return html`
    <form class="explain" onSubmit=${ask}>
      <label class="hidden" for="request">The request's JSON</label>
      <textarea id="request" ref=${body} rows="10" spellcheck=${false} data-search
          defaultValue=${example(model)}></textarea>
      <div class="filters">
        <${Choice} label="Path" value=${path} options=${PATHS.map(each => [each, each])} onChange=${setPath} />
        <${Choice} label="Profile" value=${profile} options=${choices} onChange=${setProfile} />
        <${Choice} label="What if with" value=${other} options=${[['', 'no other'], ...names.map(name => [name, name])]}
            onChange=${setOther} />
        <button class="primary" data-explain>Explain</button>
      </div>
      ${error && html`<p class="fault" role="alert">${error}</p>`}
    </form>
    ${
      answer
        ? html`<${Answers} answer=${answer} />`
        : !error &&
          html`
      <${Empty} title="Paste a request.">The JSON that a client would send, or a part of it: its model and its messages
          are enough. It is read by the node, and not kept.<//>`
    }`;
}

function explain({ path, profile, other, text }) {
  let body;
  try {
    body = JSON.parse(text);
  } catch (malformed) {
    throw new Error(`The request is not JSON: ${malformed.message}`);
  }
  return call('explain', {
    method: 'POST',
    body: { path, body, ...(profile ? { profile } : {}), ...(other ? { compare: [other] } : {}) },
  });
}

function Answers({ answer }) {
  const compared = Object.entries(answer.compared ?? {});
  if (compared.length === 0) return html`<${Decision} decision=${answer} />`;
  const chosen = decision => decision.plan.map(({ worker }) => worker).join(' → ') || 'nobody';
  return html`
    <p class="verdict">${compared.map(
      ([name, decision]) => html`<strong>${name}</strong> would send it to ${chosen(decision)},
      <strong> ${answer.profile}</strong> to ${chosen(answer)}.`,
    )}</p>
    <div class="compare">
      <${Panel} title=${answer.profile}><${Decision} decision=${answer} /><//>
      ${compared.map(([name, decision]) => html`<${Panel} key=${name} title=${name}><${Decision} decision=${decision}
          /><//>`)}
    </div>`;
}

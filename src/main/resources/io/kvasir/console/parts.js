// What pages are made of: headings, tables, marks, empty states, questions before a change.
import { html, useLayoutEffect, useRef, useState } from './vendor/preact.js';
import { ApiError } from './api.js';

/** A page's heading, with what can be done on its right. */
export const Heading = ({ title, about, children }) => html`
  <header class="heading">
    <div><h1>${title}</h1>${about && html`<p>${about}</p>`}</div>
    <div class="actions">${children}</div>
  </header>`;

/** A titled part of a page. */
export const Panel = ({ title, about, actions, children, wide }) => html`
  <section class=${wide ? 'panel wide' : 'panel'} aria-label=${title}>
    <header><h2>${title}</h2>${about && html`<p>${about}</p>`}<div class="actions">${actions}</div></header>
    ${children}
  </section>`;

/** What to do where there is nothing to show. */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;

/** What an answer lacks: an error, or that it has not come yet. */
export function Missing({ error }) {
  if (!error) return html`<div class="empty" aria-busy="true">Asking the router …</div>`;
  const title =
    error instanceof ApiError && error.status === 404 ? 'There is no such thing.' : 'This cannot be shown.';
  return html`<${Empty} title=${title}>${error.message}<//>`;
}

/** A word with a colour; the word alone says it, too. Kinds: good, warn, bad, plain. */
export const Mark = ({ kind = 'plain', children, title }) =>
  html`<span class=${`mark ${kind}`} title=${title}>${children}</span>`;

/**
 * A table. Columns are {name, of, figure, text, title, order}: of gives a row's cell, figure aligns it as a number,
 * text lets it run over several lines, order gives what rows are sorted by when the column's head is pressed. Rows
 * need a key by keyOf; onOpen makes them open something. On a narrow screen stacked makes a block of each row, with the
 * columns' names in it.
 */
export function Table({ caption, columns, rows, keyOf, onOpen, classOf, sorted, stacked, most = Infinity }) {
  const [sort, setSort] = useState(sorted ?? null);
  const ordered = sort ? [...rows].sort(by(columns[sort.column].order, sort.down)) : rows;
  const press = column =>
    setSort({ column, down: sort?.column === column ? !sort.down : Boolean(columns[column].figure) });
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table class=${stacked ? 'stacked' : ''}>
        <caption class="hidden">${caption}</caption>
        <thead><tr>${columns.map(
          (column, at) => html`
          <th scope="col" class=${column.figure ? 'figure' : ''} title=${column.title}
              aria-sort=${sort?.column === at ? (sort.down ? 'descending' : 'ascending') : undefined}>
            ${column.order ? html`<button class="head" onClick=${() => press(at)}>${column.name}</button>`
                : column.name}
          </th>`,
        )}
        </tr></thead>
        <tbody>${ordered.slice(0, most).map(
          row => html`
          <tr key=${keyOf(row)} class=${classOf?.(row) ?? ''}>${columns.map(
            (column, at) => html`
            <td class=${column.figure ? 'figure' : column.text ? 'text' : ''} data-name=${column.name}>
              ${
                at === 0 && onOpen
                  ? html`<button class="open" onClick=${() => onOpen(row)}>${column.of(row)}</button>`
                  : column.of(row)
              }
            </td>`,
          )}
          </tr>`,
        )}
        </tbody>
      </table>
    </div>`;
}

function by(order, down) {
  const sign = down ? -1 : 1;
  return (a, b) => {
    const [left, right] = [order(a) ?? '', order(b) ?? ''];
    const smaller =
      typeof left === 'string' ? left.localeCompare(String(right), 'en', { numeric: true }) : left - right;
    return sign * smaller;
  };
}

/** Names and values, as a list of definitions. Entries are [name, value]. */
export const Facts = ({ entries }) => html`
  <dl class="facts">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** One of a few choices, always in sight. Options are [value, name]. */
export const Choice = ({ label, options, value, onChange }) => html`
  <label class="choice"><span>${label}</span>
    <select value=${value} onChange=${event => onChange(event.target.value)}>
      ${options.map(([each, name]) => html`<option value=${each} selected=${each === value}>${name}</option>`)}
    </select>
  </label>`;

/** The page's search; the key "/" goes there. */
export const Search = ({ label, value, onInput }) => html`
  <input type="search" class="search" data-search placeholder=${`${label}  /`} aria-label=${label} value=${value}
         onInput=${event => onInput(event.target.value)} spellcheck=${false} autocomplete="off" />`;

/** A question before something is changed. act does it, and may throw what the router says against it. */
export function Confirm({ title, children, verb, act, onClose }) {
  const dialog = useRef(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  // Before it is painted: a key that is pressed as soon as it is seen is for it.
  useLayoutEffect(() => dialog.current.showModal(), []);
  const agree = async () => {
    setBusy(true);
    try {
      await act();
      onClose();
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return html`
    <dialog ref=${dialog} onClose=${onClose} aria-label=${title}>
      <h2>${title}</h2>
      <p>${children}</p>
      ${error && html`<p class="fault" role="alert">${error.message}</p>`}
      <div class="actions">
        <button onClick=${() => dialog.current.close()}>Cancel</button>
        <button class="primary" onClick=${agree} disabled=${busy} data-agree>${verb}</button>
      </div>
    </dialog>`;
}

/** A share from 0 to 1 as a bar. */
export const Bar = ({ share, kind = '' }) => {
  const width = `${100 * Math.min(1, Math.max(0, share || 0))}%`;
  return html`<span class=${`bar ${kind}`} aria-hidden="true"><span style=${{ width }} /></span>`;
};

// The admin API, asked with the operator's key. The key is typed once and kept for this tab only.
import { useCallback, useEffect, useState } from './vendor/preact.js';
import { store } from './store.js';

const KEY = 'kvasir-admin-key';

/**
 * Whose key it is: state is 'asking', 'open', 'closed' (a key is needed) or 'failed'; role 'admin' or 'viewer'; demo:
 * whether the router is the demo's; calls: the paths of its admin API.
 */
export const session = store({ state: 'asking', message: '', role: 'viewer', demo: false, calls: new Set() });

/** An answer other than 2xx, or none at all (status 0). */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(body) {
  const key = sessionStorage.getItem(KEY);
  return {
    ...(key ? { Authorization: `Bearer ${key}` } : {}),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
}

/** The response to a request, its body unread. Throws an ApiError; one that wants a key brings the login. */
export async function request(path, { method = 'GET', body, signal } = {}) {
  let response;
  try {
    response = await fetch(`../admin/${path}`, {
      method,
      signal,
      headers: headers(body),
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      redirect: 'error',
    });
  } catch (failed) {
    if (failed.name === 'AbortError') throw failed;
    throw new ApiError(0, 'The router does not answer.');
  }
  if (response.ok) return response;
  const message = await refusal(response);
  if (response.status === 401) close(message);
  throw new ApiError(response.status, message);
}

async function refusal(response) {
  try {
    const { error } = await response.json();
    const faults = (error.faults ?? []).map(fault => `${fault.field}: ${fault.message}`);
    return [error.message, ...faults].join('\n');
  } catch {
    return `The router answered ${response.status}.`;
  }
}

/** The JSON that a request is answered. */
export async function call(path, options) {
  return (await request(path, options)).json();
}

function close(message) {
  const typed = sessionStorage.getItem(KEY) !== null;
  sessionStorage.removeItem(KEY);
  session.update({ state: 'closed', message: typed ? message : '' });
}

/** Asks whose key it is: without one, an operator on the router's own machine may be let in. */
export async function enter(key) {
  if (key) sessionStorage.setItem(KEY, key);
  session.update({ state: 'asking', message: '' });
  try {
    const known = await call('session');
    const { paths } = await call('openapi.json');
    session.set({ ...known, state: 'open', message: '', calls: new Set(Object.keys(paths)) });
  } catch (failed) {
    if (failed.status !== 401) session.update({ state: 'failed', message: failed.message });
  }
}

/** Forgets the key. */
export function leave() {
  sessionStorage.removeItem(KEY);
  session.update({ state: 'closed', message: '' });
}

/** What a GET answers, in a component: {data, error, reload}. Asked again when the path changes; null asks nothing. */
export function useAnswer(path) {
  const [answer, setAnswer] = useState({ path: null });
  const [times, setTimes] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const aborter = new AbortController();
    call(path, { signal: aborter.signal })
      .then(data => setAnswer({ path, data }))
      .catch(error => aborter.signal.aborted || setAnswer({ path, error }));
    return () => aborter.abort();
  }, [path, times]);
  const reload = useCallback(() => setTimes(count => count + 1), []);
  return answer.path === path ? { data: answer.data, error: answer.error, reload } : { reload };
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { followContracts, onEvents } from './live.js';

/** The least time between two reads of a query. */
const PAUSE_MS = 800;

/** Functions that merge a mutation's answer into each query on the page. */
const shown = new Set();

/** Shows a mutation's answer: merges its objects into those of the same id; then all queries read again. */
export function changed(answer) {
  const known = new Map();
  collect(answer, known);
  for (const take of shown) take(known);
}

/** Runs a mutation and shows its answer. Throws ApiError. */
export async function carryOut(document, variables, options) {
  const data = await ask(document, variables, options);
  changed(data);
  return data;
}

function collect(value, known) {
  if (typeof value !== 'object' || value === null) return;
  if (value.id) known.set(value.id, value);
  for (const member of Object.values(value)) collect(member, known);
}

function merged(value, known) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => merged(one, known));
  const newer = known.get(value.id) ?? {};
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name in newer ? newer[name] : merged(member, known)]),
  );
}

export const useActivations = () => useEffect(followContracts, []);

/** A query's data (none without variables), read again at events that `wakes` accepts, at most every `pause` ms; while new variables load, the data before stays. */
export function useQuery(document, variables, wakes = (/** @type {any} */ _) => true, pause = PAUSE_MS) {
  const key = JSON.stringify([document, variables]);
  const [state, setState] = useState(/** @type {any} */ ({ key: null }));
  const current = useRef(/** @type {any} */ ({}));
  current.current.wakes = wakes;

  useEffect(() => {
    if (!variables) return;
    const gone = new AbortController();
    let [timer, lookedAt, looking, again, version] = /** @type {any[]} */ ([undefined, 0, false, false, 0]);
    const look = async () => {
      if (looking) {
        again = true;
        return;
      }
      [looking, again, lookedAt] = [true, false, performance.now()];
      const begun = version;
      try {
        const data = await ask(document, variables, { signal: gone.signal });
        if (begun === version) setState({ key, data });
      } catch (error) {
        if (gone.signal.aborted) return;
        setState((before) => ({ ...before, key, error }));
      }
      looking = false;
      if (again || begun !== version) soon();
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(look, Math.max(100, lookedAt + pause - performance.now()));
    };
    const take = (known) => {
      version += 1;
      setState((before) => ({ ...before, data: merged(before.data, known) }));
      // Of many mutations in a row, only the first one causes a read of its own.
      if (performance.now() < lookedAt + pause) soon();
      else look();
    };
    current.current.look = look;
    const stop = onEvents((event) => (event === null || current.current.wakes(event)) && soon());
    shown.add(take);
    look();
    return () => {
      stop();
      shown.delete(take);
      clearTimeout(timer);
      gone.abort();
    };
  }, [key]);

  return { data: state.data, error: state.error, loading: state.key !== key, reload: () => current.current.look() };
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from './api.js';
import { onEvents } from './live.js';

/** At most one look in so many milliseconds, however much happens. */
const PAUSE_MS = 800;

/**
 * The data of a query, read anew when an event comes that `wakes` says yes to. Until other variables have their answer the
 * last one stays, with `loading`. `reload` reads anew at once.
 */
export function useQuery(document, variables, wakes = () => true) {
  const key = JSON.stringify([document, variables]);
  const [state, setState] = useState({ key: null });
  const current = useRef({});
  current.current.wakes = wakes;

  useEffect(() => {
    const gone = new AbortController();
    let [timer, lookedAt, looking, again] = [undefined, 0, false, false];
    const look = async () => {
      if (looking) {
        again = true;
        return;
      }
      [looking, again, lookedAt] = [true, false, performance.now()];
      try {
        const data = await ask(document, variables, { signal: gone.signal });
        setState({ key, data });
      } catch (error) {
        if (!gone.signal.aborted) setState((before) => ({ ...before, key, error }));
      }
      looking = false;
      if (again) soon();
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(look, Math.max(100, lookedAt + PAUSE_MS - performance.now()));
    };
    current.current.look = look;
    const stop = onEvents((event) => (event === null || current.current.wakes(event)) && soon());
    look();
    return () => {
      stop();
      clearTimeout(timer);
      gone.abort();
    };
  }, [key]);

  return { data: state.data, error: state.error, loading: state.key !== key, reload: () => current.current.look() };
}

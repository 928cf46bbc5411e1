import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { route } from './router.js';

/**
 * Holds a list that has pages: another page of it is shown from its top, and has the focus. Without `page` the address names it.
 */
export function Listing({ label, page = pageOfAddress(), children }) {
  const top = useRef();
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current === page) return;
    shown.current = page;
    top.current.focus({ preventScroll: true });
    top.current.scrollIntoView({ block: 'start' });
  }, [page]);
  return html`<section ref=${top} class="listing" tabindex="-1" aria-label=${label}>${children}</section>`;
}

function pageOfAddress() {
  const { after = '', before = '' } = route.value.query;
  return after + before;
}

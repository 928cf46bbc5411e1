import { useEffect, useState } from 'preact/hooks';
import { html, t } from './html.js';

const hasFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes('Files');

/** While a file is held over the page, it says where it will go; the whole page takes it. */
export function DropZone({ name, take }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    const on = (type, listener) => addEventListener(type, listener, { signal: gone.signal });
    on('dragover', (event) => setOver(hasFiles(event)));
    // It may only leave one element for another.
    on('dragleave', ({ relatedTarget }) => relatedTarget || setOver(false));
    on('drop', ({ dataTransfer }) => {
      setOver(false);
      if (dataTransfer?.files.length) take([...dataTransfer.files]);
    });
    return () => gone.abort();
  }, []);
  return (
    over &&
    html`<div class="drop" aria-hidden="true"><p>Drop to add the vehicles to<br /><b>${name ?? t('this fleet')}</b></p></div>`
  );
}

import { useEffect, useState } from 'preact/hooks';
import { html, t } from './html.js';

const hasFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes('Files');

/** While a file is held over the page, it says where it will go; the whole page takes it. */
export function DropZone({ name, take }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let inside = 0;
    const listen = /** @type {Record<string, any>} */ ({
      dragenter: (event) => {
        if (!hasFiles(event)) return;
        inside += 1;
        setOver(true);
      },
      dragleave: (event) => {
        if (!hasFiles(event)) return;
        inside = Math.max(0, inside - 1);
        if (inside === 0) setOver(false);
      },
      drop: ({ dataTransfer }) => {
        inside = 0;
        setOver(false);
        if (dataTransfer?.files.length) take([...dataTransfer.files]);
      },
    });
    for (const [event, listener] of Object.entries(listen)) addEventListener(event, listener);
    return () => {
      for (const [event, listener] of Object.entries(listen)) removeEventListener(event, listener);
    };
  }, []);
  return (
    over &&
    html`<div class="drop" aria-hidden="true"><p>Drop to add the vehicles to<br /><b>${name ?? t('this fleet')}</b></p></div>`
  );
}

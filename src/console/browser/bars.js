import { count, html, t } from './html.js';
import { Table } from './table.js';
import { Day } from './time.js';

const HEIGHT = 100;
/** Of the place of a day, the bars take so much. */
const TAKEN = 0.8;

/** Numbers by the day as bars, and as a table for those who cannot see them. `series` have a `name` and `of(day)`. */
export function Bars({ label, days, series }) {
  const most = Math.max(1, ...days.flatMap((day) => series.map(({ of }) => of(day))));
  const columns = [
    { name: t('Day'), kind: 'main', cell: ({ id }) => html`<${Day} utc at=${id} />` },
    ...series.map(({ name, of }) => ({ name, kind: 'named', cell: (day) => count(of(day)) })),
  ];
  return html`<figure class="bars">
    <ul class="legend">
      ${series.map(({ name }, at) => html`<li key=${name}><i class=${`dot series${at}`} />${name} <b>${count(days.reduce((sum, day) => sum + series[at].of(day), 0))}</b></li>`)}
    </ul>
    <p class="dim">${count(most)}</p>
    <svg viewBox=${`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${days.map((day, at) => html`<${Group} key=${day.id} at=${at} values=${series.map(({ of }) => of(day))} most=${most} />`)}
    </svg>
    <p class="row apart dim"><${Day} utc at=${days[0].id} /><${Day} utc at=${days.at(-1).id} /></p>
    <details><summary>As a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${label}>
        <${Table} label=${label} columns=${columns} rows=${days.toReversed()} />
      </div>
    </details>
  </figure>`;
}

function Group({ at, values, most }) {
  const width = TAKEN / values.length;
  return values.map((value, which) => {
    const height = (value / most) * HEIGHT;
    const x = at + (1 - TAKEN) / 2 + which * width;
    return html`<rect class=${`series${which}`} x=${x} y=${HEIGHT - height} width=${width} height=${height} />`;
  });
}

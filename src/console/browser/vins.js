import { useState } from 'preact/hooks';
import { fieldError, fleetData } from './api.js';
import { attempt, openDialog } from './dialog.js';
import { counted, html, t } from './html.js';
import { carryOut } from './query.js';
import { RefusedTable } from './refused.js';
import { toast } from './toast.js';

const addVehicles = `mutation AddVehicles($input: AddVehiclesInput!) {
  addVehicles(input: $input) {
    summary { created existing rejected } rejected { index value code message }
    ${fleetData}
  }
}`;

const typing = { spellcheck: false, autocapitalize: 'characters' };
const hint = t('One per line. Spaces and dashes are ignored.');
const fields = [
  { name: 'vins', label: t('VINs'), type: 'area', rows: 6, class: 'vin', ...typing, hint },
  { name: 'atomic', label: t('Add nothing if a VIN is rejected'), type: 'check' },
  { name: 'dryRun', label: t('Check only, save nothing'), type: 'check' },
];

/** Pasted VINs, one per line or separated by commas, with the numbers of their lines. */
const read = (text) =>
  text.split('\n').flatMap((line, at) =>
    line.split(/[,;\t]+/).flatMap((part) => {
      const vin = part.trim();
      return vin ? { row: at + 1, vin } : [];
    }),
  );

/** Adds pasted VINs. Only the rejected ones stay in the field, unless nothing was saved; their reasons name its lines. */
export const addVins = (fleetId) =>
  openDialog({
    title: t('Add VINs'),
    fields,
    verb: t('Add vehicles'),
    wide: true,
    send: async ({ vins: text, atomic, dryRun }, run) => {
      const given = read(text);
      if (given.length === 0) throw fieldError('vins', t('Enter at least one VIN.'));
      const input = { fleetId, vins: given.map(({ vin }) => vin), dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' };
      const answer = run(addVehicles, { input }).then((data) => data.addVehicles);
      const { summary, rejected } = await answer.catch(reportOfAtomic);
      if (rejected.length === 0) return outcomeOf(summary, dryRun);
      const saved = !atomic && !dryRun;
      const rows = rejected.map(({ index, ...one }, at) => ({
        ...{ id: index, row: saved ? at + 1 : given[index].row },
        ...one,
      }));
      throw Object.assign(fieldError('vins', outcomeOf(summary, dryRun)), {
        values: saved && { vins: rejected.map(({ value }) => value).join('\n') },
        report: html`<${Suggestions} rows=${rows} />`,
      });
    },
  });

/** The report of the mode atomic, which is in its error. */
function reportOfAtomic(error) {
  if (!error.details?.rejected) throw error;
  return error.details;
}

const added = (number, dryRun) =>
  dryRun
    ? t('{vehicles} would be added', { vehicles: counted(number, 'vehicle') })
    : t('{vehicles} added', { vehicles: counted(number, 'vehicle') });

function outcomeOf({ created, existing, rejected }, dryRun = false) {
  const known = existing > 0 && t('{count} already in the fleet', { count: existing });
  const all = [added(created, dryRun), known].filter(Boolean).join(', ');
  if (rejected === 0) return `${all}.`;
  const first = t('{values} rejected', { values: counted(rejected, 'VIN') });
  return `${t('{first}; {second}', { first, second: created + existing > 0 ? all : t('nothing was added') })}.`;
}

/** Reasons of rejected VINs in the field; a suggestion replaces the VIN in its line, and the next one takes the focus. */
function Suggestions({ rows }) {
  const [done, setDone] = useState(/** @type {any[]} */ ([]));
  const left = rows.filter((row) => !done.includes(row));
  const mend = (row, vin, { currentTarget: button }) => {
    const box = button.form.elements.vins;
    const lines = box.value.split('\n');
    lines[row.row - 1] = lines[row.row - 1].replace(row.value, () => vin);
    box.value = lines.join('\n');
    const buttons = [...button.closest('table').querySelectorAll('button')];
    (buttons[buttons.indexOf(button) + 1] ?? box).focus();
    setDone([...done, row]);
  };
  return (
    left.length > 0 &&
    html`<${RefusedTable} rows=${left.map((row) => ({ ...row, mend: (...given) => mend(row, ...given) }))} />`
  );
}

/** Rejected rows of a file, which are corrected in place and added by themselves. */
export function Corrections({ fleetId, rows }) {
  const [results, setResults] = useState(new Map());
  const shown = rows.map((row) => {
    const now = { ...row, ...results.get(row.row) };
    return now.added || now.code === 'VIN_IN_ANOTHER_FLEET' ? now : { ...now, edits: true, mend: fillIn };
  });
  const add = attempt(async (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const edited = shown.flatMap(({ row, value, edits }) => {
      const vin = edits && elements[`row ${row}`].value.trim();
      return vin && vin !== value ? { row, vin } : [];
    });
    if (edited.length === 0) return toast(t('Correct a VIN first.'));
    const input = { fleetId, vins: edited.map(({ vin }) => vin) };
    const { summary, rejected } = (await carryOut(addVehicles, { input })).addVehicles;
    const again = new Map(rejected.map(({ index, ...one }) => [index, one]));
    const news = edited.map(({ row, vin }, at) => [row, again.get(at) ?? { value: vin, added: true }]);
    setResults((before) => new Map([...before, ...news]));
    toast(outcomeOf(summary));
  });
  return html`<form onSubmit=${add} novalidate>
    <${RefusedTable} rows=${shown} />
    ${shown.some(({ edits }) => edits) && html`<button>Add corrected VINs</button>`}
  </form>`;
}

function fillIn(vin, { currentTarget }) {
  const field = currentTarget.closest('tr').querySelector('input');
  field.value = vin;
  field.focus();
}

import { fieldError } from './api.js';
import { openDialog } from './dialog.js';
import { counted, html, t } from './html.js';
import { RefusedTable } from './refused.js';

const addVehicles = `mutation AddVehicles($input: AddVehiclesInput!) {
  addVehicles(input: $input) {
    summary { created existing rejected }
    rejected { index value message }
    fleet { id vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
  }
}`;

const typing = { spellcheck: false, autocapitalize: 'characters' };
const hint = t('One on each line. Spaces and dashes do not matter.');
const fields = [
  { name: 'vins', label: t('VINs'), type: 'area', rows: 6, class: 'vin', ...typing, hint },
  { name: 'atomic', label: t('Add none if one is refused'), type: 'check' },
  { name: 'dryRun', label: t('Only try it, and store nothing'), type: 'check' },
];

/** Takes VINs as people have them: one on a line, or parted by commas. Those that are refused are shown, with why. */
export const addVins = (fleetId) =>
  openDialog({
    title: t('Add VINs'),
    fields,
    verb: t('Add vehicles'),
    send: async ({ vins: text, atomic, dryRun }, run) => {
      const vins = text
        .split(/[\n,;\t]+/)
        .map((vin) => vin.trim())
        .filter(Boolean);
      if (vins.length === 0) throw fieldError('vins', t('Type or paste at least one VIN.'));
      const input = { fleetId, vins, dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' };
      const { summary, rejected } = await add(input, run);
      const created = added(summary.created, dryRun);
      if (rejected.length === 0) {
        const known = summary.existing > 0 && t('{count} already there', { count: summary.existing });
        return `${[created, known].filter(Boolean).join(', ')}.`;
      }
      const rows = rejected.map(({ index, value, message }) => ({ row: index + 1, value, message }));
      throw Object.assign(fieldError('vins', refusal(summary, dryRun)), {
        report: html`<${RefusedTable} rows=${rows} />`,
      });
    },
  });

async function add(input, run) {
  try {
    return (await run(addVehicles, { input })).addVehicles;
  } catch (error) {
    // The gateway answers with an error if it refuses all VINs; its details hold the report.
    if (error.details?.rejected) return error.details;
    throw error;
  }
}

const added = (number, dryRun) =>
  t(dryRun ? '{vehicles} would be added' : '{vehicles} added', { vehicles: counted(number, 'vehicle') });

const refusal = ({ created, rejected }, dryRun) => {
  const refused = t('{values} refused', { values: counted(rejected, 'VIN') });
  return `${refused}; ${created > 0 ? added(created, dryRun) : t('nothing was added')}.`;
};

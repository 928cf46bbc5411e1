import { fieldError } from './api.js';
import { openDialog } from './dialog.js';
import { html } from './html.js';
import { RefusedTable } from './refused.js';
import { counted } from './words.js';

const addVehicles = `mutation AddVehicles($input: AddVehiclesInput!) {
  addVehicles(input: $input) {
    summary { created existing rejected }
    rejected { index value message }
    fleet { id vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }
  }
}`;

const fields = [
  {
    name: 'vins',
    label: 'VINs',
    type: 'area',
    rows: 6,
    class: 'vin',
    spellcheck: false,
    autocapitalize: 'characters',
    hint: 'One on each line. Spaces and dashes do not matter.',
  },
  { name: 'atomic', label: 'Add none if one is refused', type: 'check' },
  { name: 'dryRun', label: 'Only try it, and store nothing', type: 'check' },
];

/** Takes VINs as people have them: one on a line, or parted by commas. Those that are refused are shown, with why. */
export const addVins = (fleetId) =>
  openDialog({
    title: 'Add VINs',
    fields,
    verb: 'Add vehicles',
    send: async ({ vins: text, atomic, dryRun }, run) => {
      const vins = text
        .split(/[\n,;\t]+/)
        .map((vin) => vin.trim())
        .filter(Boolean);
      if (vins.length === 0) throw fieldError('vins', 'Type or paste at least one VIN.');
      const input = { fleetId, vins, dryRun, mode: atomic ? 'ATOMIC' : 'PARTIAL' };
      const { summary, rejected } = await add(input, run);
      const would = dryRun ? 'would be ' : '';
      if (rejected.length === 0) {
        const { created, existing } = summary;
        return `${counted(created, 'vehicle')} ${would}added${existing ? `, ${existing} already there` : ''}.`;
      }
      const rows = rejected.map(({ index, value, message }) => ({ row: index + 1, value, message }));
      throw Object.assign(fieldError('vins', refusal(summary, would)), {
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

const refusal = ({ created, rejected }, would) =>
  `${counted(rejected, 'VIN')} refused${created ? `; ${counted(created, 'vehicle')} ${would}added` : '; nothing was added'}.`;

import { createClient } from 'graphql-ws';
import { Suspense, startTransition, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  graphql,
  RelayEnvironmentProvider,
  useLazyLoadQuery,
  useMutation,
  usePaginationFragment,
  useRefetchableFragment,
  useSubscription,
} from 'react-relay';
import { Environment, Network, Observable, RecordSource, Store } from 'relay-runtime';
import { authorization, messageOf, reasonOf, sentenceOf, unusable } from '../messages.js';

// All subscriptions share one WebSocket.
const events = createClient({ url: '/graphql', connectionParams: () => ({ authorization }) });

async function send({ text: query }, variables, _cache, uploadables) {
  const operation = JSON.stringify({ query, variables });
  const headers = { authorization, ...(!uploadables && { 'content-type': 'application/json' }) };
  const body = uploadables ? formOf(operation, uploadables) : operation;
  const result = await (await fetch('/graphql', { method: 'POST', headers, body })).json();
  if (result.errors) throw Object.assign(new Error(messageOf(result.errors)), result);
  return result;
}

/** Writes a form for the GraphQL multipart request specification; each file's name is its path in the operation. */
function formOf(operation, uploadables) {
  const form = new FormData();
  form.append('operations', operation);
  form.append('map', JSON.stringify(Object.fromEntries(Object.keys(uploadables).map((path) => [path, [path]]))));
  for (const [path, file] of Object.entries(uploadables)) form.append(path, file);
  return form;
}

const environment = new Environment({
  network: Network.create(send, ({ text: query }, variables) =>
    Observable.create((sink) => events.subscribe({ query, variables }, sink)),
  ),
  store: new Store(new RecordSource()),
});

function Vehicles({ fleet }) {
  const { data, hasNext, loadNext, refetch } = usePaginationFragment(
    graphql`fragment main_vehicles on Fleet
      @argumentDefinitions(
        count: { type: "Int", defaultValue: 10 }
        cursor: { type: "String" }
        filter: { type: "VehicleFilter" }
      )
      @refetchable(queryName: "mainVehiclesQuery") {
      vehicles(first: $count, after: $cursor, filter: $filter) @connection(key: "main_vehicles") {
        edges { node { id vin eligibility { status reason { code message } } } }
      }
    }`,
    fleet,
  );
  // The store shows each new status, since it finds the vehicle by id.
  const subscription = graphql`subscription mainChangesSubscription($id: ID) {
    eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status reason { code message } } } }
  }`;
  useSubscription(useMemo(() => ({ subscription, variables: { id: fleet.id } }), [subscription, fleet.id]));
  const choose = ({ target }) => startTransition(() => void refetch({ filter: target.checked ? unusable : null }));
  return (
    <>
      <label><input type="checkbox" onChange={choose} /> Only what cannot be used</label>
      <ul>
        {data.vehicles.edges.map(({ node }) => (
          <li key={node.id}>
            {node.vin}: {node.eligibility.status} {node.eligibility.reason && reasonOf(node.eligibility.reason)}
          </li>
        ))}
      </ul>
      {hasNext && <button type="button" onClick={() => loadNext(10)}>More</button>}
    </>
  );
}

function Progress({ importId }) {
  const [progress, setProgress] = useState(null);
  const subscription = graphql`subscription mainProgressSubscription($importId: ID!) {
    importProgress(importId: $importId) { id state received }
  }`;
  const onNext = ({ importProgress }) => setProgress(importProgress);
  // biome-ignore lint/correctness/useExhaustiveDependencies: one subscription for each import.
  useSubscription(useMemo(() => ({ subscription, variables: { importId }, onNext }), [importId]));
  return progress && <p role="status">{progress.state}: {progress.received} rows</p>;
}

function Upload({ fleetId, onDone }) {
  // The client chooses the import's id, so that it can follow the progress from the first byte.
  const [importId, setImportId] = useState(null);
  const [result, setResult] = useState({});
  const [upload] = useMutation(graphql`mutation mainUploadMutation($input: ImportVehiclesInput!) {
    importVehicles(input: $input) {
      summary { created existing rejected }
      import { rejected(first: 5) { edges { node { row value message } } } }
    }
  }`);
  const sendFile = ({ target }) => {
    const id = crypto.randomUUID();
    setImportId(id);
    setResult({});
    upload({
      variables: { input: { fleetId, importId: id, file: null } },
      uploadables: { 'variables.input.file': target.files[0] },
      onCompleted: ({ importVehicles }) => onDone(setResult(importVehicles)),
      onError: (error) => setResult({ error }),
    });
  };
  const { summary, import: stored, error } = result;
  return (
    <>
      <label>Upload vehicles <input type="file" onChange={sendFile} /></label>
      {importId && <Progress key={importId} importId={importId} />}
      {summary && <p>{summary.created} added, {summary.rejected} rejected</p>}
      {stored?.rejected.edges.map(({ node }) => (
        <p key={node.row}>Row {node.row}, {node.value}: {node.message}</p>
      ))}
      {error && <p role="alert">{error.errors ? error.message : 'The gateway is out of reach.'}</p>}
    </>
  );
}

function Activity({ fleet }) {
  const [{ timeline }, refetch] = useRefetchableFragment(
    graphql`fragment main_activity on Fleet @refetchable(queryName: "mainActivityQuery") {
      timeline(last: 5) {
        nodes {
          id
          type
          vehicleCount
          data {
            ... on FleetCreatedData { name }
            ... on EligibilityChangedData { toStatus }
            ... on ImportCompletedData { created rejected }
          }
        }
      }
    }`,
    fleet,
  );
  const subscription = graphql`subscription mainEventsSubscription($id: ID) { events(filter: { fleetId: $id }) { id } }`;
  const onNext = () => startTransition(() => void refetch({}, { fetchPolicy: 'store-and-network' }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: one subscription for each fleet.
  useSubscription(useMemo(() => ({ subscription, variables: { id: fleet.id }, onNext }), [fleet.id]));
  return timeline.nodes.map((event) => <p key={event.id}>{sentenceOf(event)}</p>);
}

function App() {
  const [fetchKey, setFetchKey] = useState(0);
  const { fleets } = useLazyLoadQuery(
    graphql`query mainFleetsQuery { fleets(first: 1) { nodes { id name ...main_vehicles ...main_activity } } }`,
    {},
    { fetchKey, fetchPolicy: 'store-and-network' },
  );
  const [fleet] = fleets.nodes;
  if (!fleet) return <p>There is no fleet yet.</p>;
  return (
    <>
      <h1>{fleet.name}</h1>
      <Upload fleetId={fleet.id} onDone={() => setFetchKey(fetchKey + 1)} />
      <Vehicles fleet={fleet} />
      <h2>Activity</h2>
      <Activity fleet={fleet} />
    </>
  );
}

createRoot(document.getElementById('main')).render(
  <RelayEnvironmentProvider environment={environment}>
    <Suspense fallback={<p>Loading…</p>}><App /></Suspense>
  </RelayEnvironmentProvider>,
);

import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';
import type { Selection } from '../../core/sql/selection.ts';

type Info = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

interface Needs<T> {
  /** Everything core could read, to tell its members from fields that are resolved by other means. */
  every: Selection<T>;
  /** What such fields need: `fleet` needs `fleetId`. */
  also?: Readonly<Record<string, Selection<T>>>;
}

/** By the list of a field's nodes, which each execution makes anew for each place where the field stands. */
const known = new WeakMap<Info['fieldNodes'], object>();

/**
 * What core has to read for the items of a connection, so that nothing is fetched that nobody asked for. `@skip` and
 * `@include` are not looked at: what they leave out is read all the same.
 */
export function itemsOf<T extends { id: string }>(info: Info, needs: Needs<T>): Selection<T> {
  const before = known.get(info.fieldNodes);
  if (before) return before as Selection<T>;
  const connection = fieldsOf(info, info.fieldNodes);
  const edges = fieldsOf(info, connection.get('edges') ?? []);
  const selection = membersOf(info, [...(connection.get('nodes') ?? []), ...(edges.get('node') ?? [])], needs);
  const withId = { id: true, ...selection } as Selection<T>;
  known.set(info.fieldNodes, withId);
  return withId;
}

/** Whether anything that a field selects at once has this name, on whatever type. */
export const asksFor = (info: Info, name: string): boolean => fieldsOf(info, info.fieldNodes).has(name);

function membersOf<T>(info: Info, fields: readonly FieldNode[], { every, also }: Needs<T>): Selection<T> {
  const members: Record<string, unknown> = {};
  for (const [name, nodes] of fieldsOf(info, fields)) {
    const member = (every as Record<string, true | Selection<unknown> | undefined>)[name];
    if (typeof member === 'object') members[name] = membersOf(info, nodes, { every: member });
    else if (member) members[name] = true;
    else Object.assign(members, also?.[name]);
  }
  return members as Selection<T>;
}

/** The fields that these fields select, by name: whatever fragments and aliases they hide behind. */
function fieldsOf({ fragments }: Info, parents: readonly FieldNode[]): Map<string, FieldNode[]> {
  const found = new Map<string, FieldNode[]>();
  // Once each, however often they stand there: fragments of fragments would multiply.
  const spread = new Set<string>();
  const collect = (set: SelectionSetNode | undefined) => {
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) found.set(node.name.value, [...(found.get(node.name.value) ?? []), node]);
      else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
      else if (!spread.has(node.name.value)) {
        spread.add(node.name.value);
        collect(fragments[node.name.value]?.selectionSet);
      }
    }
  };
  for (const { selectionSet } of parents) collect(selectionSet);
  return found;
}

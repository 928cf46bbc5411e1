import { type DocumentNode, Kind, parse, print, type SelectionSetNode, validate, visit } from 'graphql';
import { schema } from '../support/reference.ts';
import type { RandomDocument } from './generate.ts';

const MOST_TRIES = 1000;

/** A small document that still fails: removes parts one by one, as long as the rest is valid. */
export async function shrink(
  document: RandomDocument,
  fails: (smaller: RandomDocument) => Promise<boolean>,
): Promise<RandomDocument> {
  let smallest = document;
  let candidates = [...smallerThan(smallest)];
  // Continues after the last removed part: the parts before it are needed.
  for (let at = 0, since = 0, tries = 0; since < candidates.length && tries < MOST_TRIES; tries++) {
    const smaller = candidates[at % candidates.length];
    // Each try has another text, so that cached results do not decide.
    if (smaller && (await fails({ ...smaller, query: `${smaller.query}\n# ${tries}` }))) {
      smallest = smaller;
      candidates = [...smallerThan(smallest)];
      since = 0;
    } else {
      at += 1;
      since += 1;
    }
  }
  return smallest;
}

function* smallerThan({ query, sends }: RandomDocument): Generator<RandomDocument> {
  for (const at of sends.keys()) if (sends.length > 1) yield { query, sends: sends.toSpliced(at, 1) };
  const tree = parse(query);
  for (const smaller of treesBelow(tree)) {
    const tidy = tidied(smaller);
    if (tidy.definitions.length === 0 || validate(schema, tidy).length > 0) continue;
    const text = print(tidy);
    if (text.length < print(tree).length) yield { query: text, sends };
  }
  for (const [at, { variables, operationName }] of sends.entries()) {
    for (const name of Object.keys(variables ?? {})) {
      const fewer = Object.fromEntries(Object.entries(variables ?? {}).filter(([other]) => other !== name));
      yield { query, sends: sends.with(at, { variables: fewer, ...(operationName && { operationName }) }) };
    }
  }
}

/** The document without one of its parts, for each part, large ones first. */
function* treesBelow(tree: DocumentNode): Generator<DocumentNode> {
  const parts = new Set<object>();
  visit(tree, {
    enter(node, key) {
      const alone = node.kind === Kind.OPERATION_DEFINITION && tree.definitions.length === 1;
      if (typeof key === 'number' && !alone) parts.add(node);
    },
  });
  for (const part of parts) {
    const without = visit(tree, { enter: (node) => (node === part ? null : undefined) });
    yield without;
    // Also replaces a fragment or an inner field by its selections.
    if ('selectionSet' in part && 'directives' in part) {
      yield visit(tree, {
        SelectionSet: (set) => ({
          ...set,
          selections: set.selections.flatMap((node) =>
            node === part && 'selectionSet' in node ? (node.selectionSet?.selections ?? []) : node,
          ),
        }),
      });
    }
  }
}

/** Removes unused fragments and variables, and empty selection sets. */
function tidied(tree: DocumentNode): DocumentNode {
  const spread = new Set<string>();
  const used = new Set<string>();
  const there = new Set<string>();
  visit(tree, {
    FragmentSpread: ({ name }) => void spread.add(name.value),
    FragmentDefinition: ({ name }) => void there.add(name.value),
    VariableDefinition: () => false,
    Variable: ({ name }) => void used.add(name.value),
  });
  let left = 0;
  const unless = (superfluous: boolean | undefined) => {
    left += Number(superfluous);
    return superfluous ? null : undefined;
  };
  const isEmpty = ({ selectionSet }: { selectionSet?: SelectionSetNode | undefined }) =>
    selectionSet?.selections.length === 0;
  const smaller: DocumentNode = visit(tree, {
    FragmentDefinition: { leave: (node) => unless(isEmpty(node) || !spread.has(node.name.value)) },
    OperationDefinition: { leave: (node) => unless(isEmpty(node)) },
    FragmentSpread: ({ name }) => unless(!there.has(name.value)),
    VariableDefinition: ({ variable }) => unless(!used.has(variable.name.value)),
    Field: { leave: (node) => unless(isEmpty(node)) },
    InlineFragment: { leave: (node) => unless(isEmpty(node)) },
  });
  return left > 0 ? tidied(smaller) : tree;
}
